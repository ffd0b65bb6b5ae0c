/** Audio files that are known by their first bytes, by ffmpeg's name of what reads them. */
export type MediaFormat =
  'wav' | 'mp3' | 'aac' | 'ogg' | 'flac' | 'mov' | 'matroska' | 'aiff' | 'caf' | 'au' | 'amr' | 'asf';

const MAGIC: readonly (readonly [format: MediaFormat, at: number, bytes: string])[] = [
  ['ogg', 0, 'OggS'],
  ['flac', 0, 'fLaC'],
  ['mp3', 0, 'ID3'],
  ['mov', 4, 'ftyp'],
  ['matroska', 0, '\x1a\x45\xdf\xa3'],
  ['caf', 0, 'caff'],
  ['au', 0, '.snd'],
  ['amr', 0, '#!AMR'],
  ['asf', 0, '\x30\x26\xb2\x75\x8e\x66\xcf\x11'],
];

/**
 * What kind of audio (or video with sound) a file is, whatever its name or its server say; null for everything else,
 * playlists among them: those could have a decoder read other files.
 */
export function mediaFormat(bytes: Uint8Array): MediaFormat | null {
  const text = (at: number, length: number): string => String.fromCharCode(...bytes.subarray(at, at + length));
  if ((text(0, 4) === 'RIFF' || text(0, 4) === 'RF64') && text(8, 4) === 'WAVE') return 'wav';
  if (text(0, 4) === 'FORM' && (text(8, 4) === 'AIFF' || text(8, 4) === 'AIFC')) return 'aiff';
  const known = MAGIC.find(([, at, magic]) => text(at, magic.length) === magic);
  if (known !== undefined) return known[0];
  return mpegFrame(bytes);
}

/** An MPEG audio frame begins with eleven ones; where its layer should be, AAC in ADTS has two zeros. */
function mpegFrame([first = 0, second = 0, third = 0]: Uint8Array): 'mp3' | 'aac' | null {
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  if ((second & 0xf6) === 0xf0) return 'aac';
  const layer = (second >> 1) & 3;
  const version = (second >> 3) & 3;
  return layer !== 0 && version !== 1 && third >> 4 !== 15 && ((third >> 2) & 3) !== 3 ? 'mp3' : null;
}
