import { type CodecFacts, CODECS } from '../../transports/rtp/media-codec.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';
import type { SrtpKey } from '../../transports/rtp/srtp-key.js';

/** Copies keys out of Node's buffer pool, which would be transferred with them. */
export function plainAgreement({ srtp, ...agreement }: Agreement): Agreement {
  const own = ({ suite, key, salt }: SrtpKey): SrtpKey => ({
    suite,
    key: new Uint8Array(key),
    salt: new Uint8Array(salt),
  });
  return { ...agreement, srtp: srtp === null ? null : { send: own(srtp.send), receive: own(srtp.receive) } };
}

/**
 * A transferred agreement with this thread's codec objects: codecs are compared by identity. It is read for each
 * packet, so the spread comes last, see docs/performance.md.
 */
export function ownAgreement({ codec, codecs, ...rest }: Agreement): Agreement {
  const own = ({ name }: CodecFacts): CodecFacts => CODECS[name];
  return {
    codec: { payloadType: codec.payloadType, facts: own(codec.facts) },
    codecs: new Map([...codecs].map(([type, facts]) => [type, own(facts)])),
    ...rest,
  };
}
