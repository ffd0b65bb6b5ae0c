import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMessage } from '../../../src/telephony/sip/parse.js';
import { responseTo } from '../../../src/telephony/sip/respond.js';
import { messageBytes } from '../../../src/telephony/sip/message.js';
import { connected, HOPS, phoneAt, place, Puppet, take, Wire } from './support.js';

/** `npm run test:security -- datagrams` has many more, of fuzz.test.ts. */
const RUNS = 3000;

describe('where requests go', () => {
  it('to the next server where one gives no sign, or has no capacity', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    const [silent, full] = [
      { ...HOPS.bob, port: 5070 },
      { ...HOPS.bob, port: 5071 },
    ];
    new Puppet(wire, full, (message, me, from) => {
      if (message.kind === 'request' && message.method === 'INVITE')
        me.say(responseTo(message, 503, { toTag: 'f' }), from);
    });
    const placed = place(ann, HOPS.bob, { hops: [silent, full, HOPS.bob] });
    await wire.clock.advanceBy(3900);
    expect(bob.calls).toHaveLength(0);
    await wire.clock.advanceBy(300);
    take(bob.calls[0] as never);
    await wire.clock.advanceBy(100);
    expect(placed.reported).toEqual(['ringing', 'answered']);
  });

  it.each([
    [486, 'failed 404 Not Found', ['sip:bob@192.0.2.2', 'sip:one@192.0.2.2', 'sip:two@192.0.2.2']],
    [600, 'failed 600 Busy Everywhere', ['sip:bob@192.0.2.2', 'sip:one@192.0.2.2']],
  ])('on to the next of several contacts, where the first answers %i', async (status, reported, asked) => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method !== 'INVITE') return;
      const contact = '<sip:two@192.0.2.2>;q=0.3, <sip:one@192.0.2.2>;q=0.9';
      if (message.uri.includes('bob')) {
        return me.say(responseTo(message, 302, { toTag: 'f', headers: [['contact', contact]] }), from);
      }
      me.say(responseTo(message, message.uri.includes('one') ? status : 404, { toTag: 'g' }), from);
    });
    const placed = place(ann, HOPS.bob, { redirected: (uri: string) => ({ target: uri, hops: [HOPS.bob] }) });
    await wire.clock.advanceBy(1000);
    expect(puppet.requests('INVITE').map(({ uri }) => uri)).toEqual(asked);
    expect(placed.reported).toEqual([reported]);
  });

  it('on to where a redirection says, if that may be', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const puppet = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method !== 'INVITE') return;
      const contact = '<sip:never@192.0.2.2>;q=0.9, <sip:second@192.0.2.2>;q=0.5, <sip:third@192.0.2.2>;q=0.7';
      me.say(responseTo(message, 302, { toTag: 'f', headers: [['contact', contact]] }), from);
    });
    const redirected = (uri: string) => (uri.includes('never') ? null : { target: uri, hops: [HOPS.bob] });
    const placed = place(ann, HOPS.bob, { redirected });
    await wire.clock.advanceBy(1000);
    expect(puppet.requests('INVITE').map(({ uri }) => uri)).toEqual([
      'sip:bob@192.0.2.2',
      'sip:third@192.0.2.2',
      'sip:second@192.0.2.2',
    ]);
    expect(placed.reported).toEqual(['failed 302 Moved Temporarily']);
  });

  it('never to an untrusted address in a Contact', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const eve = new Puppet(wire, HOPS.eve, () => undefined);
    const bob = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind !== 'request' || message.method !== 'INVITE') return;
      const headers: [string, string][] = [
        ['contact', '<sip:x@203.0.113.9>'],
        ['content-type', 'application/sdp'],
      ];
      me.say(responseTo(message, 200, { toTag: 'f', headers, body: Buffer.from('answer') }), from);
    });
    const placed = place(ann, HOPS.bob);
    await wire.clock.advanceBy(100);
    placed.leg().bye();
    await wire.clock.advanceBy(100);
    expect([bob.requests('ACK').length, bob.requests('BYE').length, eve.got.length]).toEqual([1, 1, 0]);
  });
});

describe('OPTIONS', () => {
  it('get the answer that a call would get while none is taken', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    const bob = phoneAt(wire, HOPS.bob, 2);
    const ask = async (): Promise<(number | string | undefined)[]> => {
      let answer: (number | string | undefined)[] = [];
      const uri = 'sip:bob@192.0.2.2';
      ann.agent.request({
        method: 'OPTIONS',
        uri,
        from: '<sip:ann@example.com>',
        to: `<${uri}>`,
        hops: [HOPS.bob],
        onFinal: (response) => (answer = [response?.status, response?.headers.get('retry-after')]),
      });
      await wire.clock.advanceBy(100);
      return answer;
    };
    expect(await ask()).toEqual([200, undefined]);
    bob.isOpen = false;
    expect(await ask()).toEqual([503, '10']);
    bob.isOpen = true;
    expect(await ask()).toEqual([200, undefined]);
  });
});

describe('bad messages', () => {
  it('are counted and named, and none is thrown', async () => {
    const { wire, ann, bob, annLeg, taken } = await connected();
    const seeds = wire.log.map(({ message }) => Buffer.from(messageBytes(message)));
    const chunk = fc.oneof(
      fc.constantFrom('\r\n', '\r\n\r\n', ':', ';', '"', '<', '>', ',', '=', 'sip:', '\0', '%00', ' ', '\t', 'SIP/2.0'),
      fc.string({ unit: 'binary', maxLength: 12 }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...seeds),
        fc.array(fc.record({ at: fc.nat(2000), cut: fc.nat(40), put: chunk }), { maxLength: 6 }),
        (seed, changes) => {
          let bytes = seed;
          for (const { at, cut, put } of changes) {
            const where = at % (bytes.length + 1);
            bytes = Buffer.concat([bytes.subarray(0, where), Buffer.from(put, 'latin1'), bytes.subarray(where + cut)]);
          }
          for (const phone of [ann, bob]) phone.agent.receive(bytes, HOPS.bob);
          parseMessage(bytes, false);
        },
      ),
      { numRuns: RUNS, seed: 42 },
    );
    expect(Object.keys(ann.agent.counts).length).toBeGreaterThan(3);
    await wire.clock.advanceBy(200_000);
    annLeg.bye();
    await wire.clock.advanceBy(100_000);
    expect(taken.reported.length).toBeGreaterThan(0);
    expect([ann.agent.transactions, bob.agent.transactions]).toEqual([0, 0]);
  });

  it('take time in proportion to their length', () => {
    const hostile = [
      `OPTIONS sip:a@b SIP/2.0\r\nFrom: ${' '.repeat(15_000)}x\r\n\r\n`,
      `OPTIONS sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP a${' \t'.repeat(7000)}:1;x\r\n\r\n`,
      `OPTIONS sip:${'a.'.repeat(7000)} SIP/2.0\r\nVia: ${',;"'.repeat(4000)}\r\n\r\n`,
      `OPTIONS sip:a@b SIP/2.0\r\n${'a: b\r\n'.repeat(2500)}\r\n`,
      `OPTIONS sip:a@b SIP/2.0\r\nTo: ${'"\\'.repeat(7000)}\r\n\r\n`,
    ];
    const wire = new Wire();
    const { agent } = phoneAt(wire, HOPS.ann, 1);
    const startMs = process.cpuUsage().user / 1000;
    for (const text of hostile) for (let n = 0; n < 20; n++) agent.receive(Buffer.from(text), HOPS.bob);
    // Quadratic time would take minutes.
    expect(process.cpuUsage().user / 1000 - startMs).toBeLessThan(5000);
  });
});
