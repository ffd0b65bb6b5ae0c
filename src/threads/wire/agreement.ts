import { type CodecFacts, CODECS } from '../../transports/rtp/media-codec.js';
import type { Agreement } from '../../transports/rtp/negotiation.js';
import type { SrtpKey } from '../../transports/rtp/srtp-key.js';

/** Keys without the pool of Node's that they may lie in: it would cross over with them. */
export function plainAgreement({ srtp, ...agreement }: Agreement): Agreement {
  const own = ({ suite, key, salt }: SrtpKey): SrtpKey => ({
    suite,
    key: new Uint8Array(key),
    salt: new Uint8Array(salt),
  });
  return { ...agreement, srtp: srtp === null ? null : { send: own(srtp.send), receive: own(srtp.receive) } };
}

/**
 * What has crossed over, with this thread's codecs: a codec that stays is known by being the same. Read for each packet:
 * what is spread comes last, see docs/design.md.
 */
export function ownAgreement({ codec, codecs, ...rest }: Agreement): Agreement {
  const own = ({ name }: CodecFacts): CodecFacts => CODECS[name];
  return {
    codec: { payloadType: codec.payloadType, facts: own(codec.facts) },
    codecs: new Map([...codecs].map(([type, facts]) => [type, own(facts)])),
    ...rest,
  };
}
