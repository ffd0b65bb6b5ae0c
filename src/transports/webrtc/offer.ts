import { ParleyError } from '../../base/errors.js';

/** Parsers take quadratic time; a browser's offer has 2 to 8 kB. */
const MAX_BYTES = 65_536;
const MAX_MEDIA = 32;

/**
 * Checks an offer before it is parsed: its size, and that it has usable audio: Opus, both ways, with ICE and DTLS (RFC
 * 8866, RFC 8829).
 * @throws ParleyError OFFER_INVALID
 */
export function checkOffer(sdp: string): void {
  if (Buffer.byteLength(sdp) > MAX_BYTES) throw invalid(`it is larger than ${String(MAX_BYTES)} bytes`);
  const lines = sdp.split(/\r\n|\n/);
  if (lines[0] !== 'v=0') throw invalid('it does not begin with v=0');
  const starts = lines.flatMap((line, at) => (line.startsWith('m=') ? [at] : []));
  if (starts.length > MAX_MEDIA) throw invalid(`it has more than ${String(MAX_MEDIA)} media sections`);
  const session = lines.slice(0, starts[0]);
  const sections = starts.map((start, n) => lines.slice(start, starts[n + 1]));
  const audio = sections.filter(([media]) => /^m=audio [1-9]\d* [A-Z/]*RTP\/SAVPF? /.test(media ?? ''));
  if (audio.length === 0) throw invalid('it has no audio');
  const usable = audio.find(
    (section) => section.some((line) => /^a=rtpmap:\d+ opus\/48000\/2$/i.test(line)) && directionOf(section, session),
  );
  if (usable === undefined) throw invalid('its audio is not Opus in both directions');
  for (const name of ['ice-ufrag', 'ice-pwd', 'fingerprint']) {
    const isThere = [...usable, ...session].some((line) => line.startsWith(`a=${name}:`));
    if (!isThere) throw invalid(`it has no a=${name}`);
  }
}

/** Identifies who made an offer: equal for two offers of one connection (RFC 8122, 5). */
export function fingerprintsOf(sdp: string): string {
  const found = sdp.split(/\r\n|\n/).filter((line) => line.startsWith('a=fingerprint:'));
  return [...new Set(found.map((line) => line.toLowerCase()))].sort().join();
}

/** Whether audio flows both ways, which is the default. */
function directionOf(section: readonly string[], session: readonly string[]): boolean {
  const of = (lines: readonly string[]): string | undefined =>
    lines.find((line) => /^a=(sendrecv|sendonly|recvonly|inactive)$/.test(line));
  return (of(section) ?? of(session) ?? 'a=sendrecv') === 'a=sendrecv';
}

function invalid(reason: string): ParleyError {
  return new ParleyError('OFFER_INVALID', { reason });
}
