import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { refusalOf, isUsableResponse } from '../../../src/telephony/sip/check.js';
import { cseqOf, type SipMessage, topVia, messageBytes } from '../../../src/telephony/sip/message.js';
import { parseMessage } from '../../../src/telephony/sip/parse.js';

/**
 * The messages of RFC 4475. They are not part of this project: PARLEY_SIP_TORTURE names a folder with `valid` and
 * `invalid`, one file a message, such as the test data of github.com/emiago/sipgo.
 */
const folder = process.env['PARLEY_SIP_TORTURE'] ?? '';
const isThere = existsSync(join(folder, 'valid', 'wsinv.dat'));

/** What becomes of each: read and fine; refused with a status; or dropped without an answer. */
const EXPECTED: Readonly<Record<string, 'fine' | 'dropped' | number>> = {
  'valid/dblreq': 'fine',
  'valid/esc01': 'fine',
  'valid/esc02': 'fine',
  'valid/escnull': 'fine',
  'valid/intmeth': 'fine',
  'valid/longreq': 'fine',
  'valid/lwsdisp': 'fine',
  'valid/mpart01': 'fine',
  'valid/noreason': 'fine',
  'valid/semiuri': 'fine',
  'valid/transports': 'fine',
  'valid/unreason': 'fine',
  'valid/wsinv': 'fine',
  'invalid/badaspec': 'fine', // 3.1.2.14: it may be repaired, what is meant is clear
  'invalid/badbranch': 'fine', // 3.2.1: matched as RFC 2543 did
  'invalid/baddate': 'fine', // 3.1.2.12: nobody here reads dates
  'invalid/baddn': 'fine', // 3.1.2.15: it may be taken
  'invalid/badinv01': 'dropped', // 3.1.2.1: a 400 would have no way back
  'invalid/badvers': 505,
  'invalid/bcast': 'dropped', // 3.3.9: two Vias
  'invalid/bext01': 'fine', // 420 is the user agent's
  'invalid/bigcode': 'dropped', // 3.1.2.19
  'invalid/clerr': 400,
  'invalid/cparam01': 'fine',
  'invalid/cparam02': 'fine',
  'invalid/escruri': 400,
  'invalid/insuf': 400,
  'invalid/inv2543': 'fine',
  'invalid/invut': 'fine', // 415 is the user agent's
  'invalid/ltgtruri': 400,
  'invalid/lwsruri': 400,
  'invalid/lwsstart': 400,
  'invalid/mcl01': 400,
  'invalid/mismatch01': 400,
  'invalid/mismatch02': 501,
  'invalid/multi01': 400,
  'invalid/ncl': 400,
  'invalid/novelsc': 416,
  'invalid/quotbal': 400,
  'invalid/regaut01': 'fine',
  'invalid/regbadct': 400,
  'invalid/regescrt': 'fine',
  'invalid/scalar02': 400,
  'invalid/scalarlg': 'dropped',
  'invalid/sdp01': 'fine', // 406 is the user agent's
  'invalid/test': 'dropped', // not of the RFC: no message at all, and nobody to tell
  'invalid/trws': 400,
  'invalid/unkscm': 416,
  'invalid/unksm2': 'fine', // 3.3.5: of other schemes, which are no fault of the syntax
  'invalid/zeromf': 'fine',
};

/** As the user agent handles it before anything else. */
function fateOf(bytes: Uint8Array): 'fine' | 'dropped' | number {
  const parsed = parseMessage(bytes);
  const request = parsed.ok ? (parsed.message.kind === 'request' ? parsed.message : null) : parsed.request;
  if (request !== null && topVia(request) === null) return 'dropped';
  if (!parsed.ok) return request === null ? 'dropped' : parsed.status;
  if (parsed.message.kind === 'response') return isUsableResponse(parsed.message) ? 'fine' : 'dropped';
  return refusalOf(parsed.message)?.status ?? 'fine';
}

describe.skipIf(!isThere)('the torture messages of RFC 4475', () => {
  const read = (name: string): Uint8Array => {
    const bytes = readFileSync(join(folder, `${name}.dat`));
    // Copies of some are without the empty line that ends the headers.
    return bytes.includes('\r\n\r\n') ? bytes : Buffer.concat([bytes, Buffer.from('\r\n')]);
  };

  for (const [name, fate] of Object.entries(EXPECTED)) {
    it(`${name}: ${String(fate)}`, () => {
      expect(fateOf(read(name))).toBe(fate);
    });
  }

  it('what can be read is written so that it reads alike', () => {
    for (const [name, fate] of Object.entries(EXPECTED)) {
      if (fate !== 'fine') continue;
      const first = messageOf(read(name));
      const second = messageOf(messageBytes(first));
      const parts = (message: SipMessage) => [...message.headers].filter(([header]) => header !== 'content-length');
      expect(parts(second), name).toEqual(parts(first));
      expect(Buffer.from(second.body), name).toEqual(Buffer.from(first.body));
    }
  });

  it('the tortuous INVITE has the meaning that the RFC gives it', () => {
    const message = messageOf(read('valid/wsinv'));
    expect(cseqOf(message)).toEqual({ sequence: 9, method: 'INVITE' });
    expect(topVia(message)).toMatchObject({ transport: 'UDP', host: '192.0.2.2' });
    expect(message.headers.values('via')).toHaveLength(3);
    expect(message.headers.get('newfangledheader')).toMatch(/^newfangled value\s+continued newfangled value$/);
  });

  it('of two messages in one datagram the first is taken', () => {
    const message = messageOf(read('valid/dblreq'));
    expect(message.kind === 'request' && message.method).toBe('REGISTER');
    expect(message.body).toHaveLength(0);
  });
});

function messageOf(bytes: Uint8Array): SipMessage {
  const parsed = parseMessage(bytes);
  if (!parsed.ok) throw new Error(parsed.fault);
  return parsed.message;
}
