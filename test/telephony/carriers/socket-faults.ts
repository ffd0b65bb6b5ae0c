import { afterEach, describe, expect, it } from 'vitest';
import { listen, LOUD, NUMBERS, type SocketRig } from './socket-rig.js';

export interface FaultyCarrier {
  /** A fresh rig; `detects`: the carrier judges as well who has answered. */
  open: (options?: { detects?: boolean; owned?: readonly string[] }) => SocketRig;
  /** Kinds of webhooks, as the double's faults name them. */
  kinds: { answered: string; over: string };
  /** How the carrier words its refusal of a call from +12025550198, which is no number of the account. */
  refusedFrom: RegExp;
  /** A message with sound, which says nothing about its place in the stream. */
  sound: (payload: string) => string;
  /** Whether the carrier says when a stream is over, or closes its socket alone. */
  saysStop?: boolean;
  /** Messages that make no sense on this carrier's media socket. */
  nonsense: readonly string[];
}

let rig: SocketRig;

/** What may go wrong with any carrier that has webhooks and a media socket. */
export function describeFaults(
  name: string,
  { open, kinds, refusedFrom, sound, saysStop = false, nonsense }: FaultyCarrier,
): void {
  describe(`a call over ${name}, when something goes wrong`, () => {
    afterEach(() => rig.dispose());

    it('is there once where the answer to its request never comes, and goes on', async () => {
      rig = open();
      rig.double.faults.swallowedAnswers = 1;
      const { call, far } = await rig.answered();
      await rig.clock.advanceBy(40_000);
      expect([rig.double.farCalls().length, call.state]).toEqual([1, 'answered']);
      expect(call.record().networkCallId).toBe(far.id);
      call.hangUp();
      await rig.until(() => far.isOver);
    });

    it('is ended at the carrier if it was cancelled before the carrier reported it', async () => {
      rig = open();
      rig.double.faults.swallowedAnswers = 1;
      const call = rig.place(NUMBERS.absent);
      call.hangUp();
      expect(call.end?.cause).toBe('canceled');
      await rig.until(() => rig.farCall(call).isOver);
    });

    it('has failed where the carrier neither answers nor tells of it', async () => {
      rig = open();
      rig.double.faults.lostRequests = 100;
      const call = rig.place();
      await rig.until(() => call.state === 'ended', 55_000);
      expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
      rig.double.faults.lostRequests = 0;
    });

    it('waits its turn where there are too many', async () => {
      rig = open();
      rig.double.faults.tooMany = 2;
      await rig.answered();
    });

    it('has failed, in the words of the carrier, where it is refused', async () => {
      rig = open();
      const call = rig.carrier.placeCall({ from: '+12025550198', to: NUMBERS.person, ringTimeoutMs: 30_000 });
      await rig.until(() => call.state === 'ended');
      expect(call.end?.reason).toMatch(refusedFrom);
    });

    it('goes on over another stream where the first one breaks', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      await rig.clock.advanceBy(500);
      far.breakSocket();
      await rig.until(() => !call.line.hasStream);
      await rig.until(() => call.line.hasStream, 9_000);
      expect([call.state, heard.closed, call.line.counts.streams]).toEqual(['answered', 0, 2]);
      const before = heard.samples.length;
      await rig.clock.advanceBy(1_000);
      expect(heard.samples.length - before).toBeGreaterThan(7_000);
      call.line.play(LOUD);
      await rig.until(() => far.person.loudness > 4_000);
    });

    it('is over soon after the far end hangs up, webhook or not', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      rig.double.faults.lateMs = { [kinds.over]: 60_000 };
      far.hangUp();
      await rig.until(() => call.state === 'ended', 4_000);
      expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
      expect(heard.closed).toBe(1);
    });

    it('is not changed by webhooks that come twice, late, or in another order', async () => {
      rig = open();
      rig.double.faults.againAfterMs = 700;
      rig.double.faults.lateMs = { [kinds.answered]: 5_000 };
      const states: string[] = [];
      const call = rig.place(NUMBERS.leaver);
      call.onState((state) => states.push(state));
      await rig.until(() => call.state === 'ended');
      await rig.clock.advanceBy(10_000);
      expect(states).toEqual(['ringing', 'answered', 'ended']);
      expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
      expect(rig.double.farCalls()).toHaveLength(1);
    });

    it('that is inbound is offered once, however often it is reported', async () => {
      rig = open();
      rig.double.faults.againAfterMs = 300;
      const { call, calls, far } = await rig.calledIn();
      call.answer();
      call.answer();
      await rig.until(() => call.state === 'answered');
      await rig.clock.advanceBy(2_000);
      expect(calls).toHaveLength(1);
      far.hangUp();
      await rig.until(() => call.state === 'ended');
      expect(call.end?.by).toBe('remote');
    });

    it('that comes in for a number that is not ours is refused', async () => {
      rig = open({ owned: [] });
      const calls: unknown[] = [];
      rig.carrier.receiveCalls((call) => calls.push(call));
      const [number = ''] = rig.double.ownNumbers();
      const far = rig.double.callIn('+12025550177', number, { does: 'answer' });
      await rig.until(() => far.isOver);
      expect([calls, far.refusal, new Set(rig.refusals)]).toEqual([[], 'rejected', new Set(['number'])]);
    });

    it.each([
      ['declined', 'busy'],
      ['full', 'busy'],
      ['unavailable', 'rejected'],
      ['failed', 'rejected'],
    ] as const)('that comes in and is %s is %s to the caller', async (refusal, heard) => {
      rig = open();
      const { call, far } = await rig.calledIn();
      call.hangUp(refusal);
      await rig.until(() => far.isOver);
      expect([call.end?.cause, far.refusal, rig.refusals]).toEqual(['rejected', heard, [refusal]]);
    });

    it('that is taken, and given up in the same instant, is over for the caller, too', async () => {
      rig = open();
      const { call, far } = await rig.calledIn();
      call.answer();
      call.hangUp();
      await rig.until(() => far.isOver, 150); // no time to be connected first
      expect([call.state, rig.errors]).toEqual(['ended', []]);
    });

    it('is ended at the carrier though it does not listen at first', async () => {
      rig = open();
      const { call, far } = await rig.answered();
      rig.double.faults.tooMany = 6;
      call.hangUp();
      await rig.until(() => far.isOver, 60_000);
    });

    it('has failed where the answer comes and the media socket does not, and says why', async () => {
      rig = open();
      rig.carrier.admit = () => null;
      const call = rig.place();
      await rig.until(() => call.state === 'ended', 60_000);
      expect(call.end).toMatchObject({ cause: 'failed', reason: expect.stringContaining('publicUrl') as unknown });
      expect(call.record().answeredMs).toBeNull();
      await rig.until(() => rig.farCall(call).isOver);
    });

    it('tells what the carrier takes whoever answered for', async () => {
      rig = open({ detects: true });
      const { call } = await rig.answered();
      await rig.until(() => call.record().machine !== undefined);
      expect(call.record().machine?.answeredBy).toMatch(/^human/);
    });

    it('stays with the agent where a transfer is given up', async () => {
      rig = open();
      const { call, far } = await rig.answered();
      const controller = new AbortController();
      let outcome: unknown;
      void call.line.transfer(NUMBERS.absent, controller.signal).then((result) => (outcome = result));
      await rig.clock.advanceBy(3_000);
      controller.abort();
      await rig.until(() => outcome !== undefined);
      expect(outcome).toEqual({ ok: false, reason: 'failed' });
      expect([call.line.hasStream, far.isOver]).toEqual([true, false]);
      await rig.until(() => rig.double.farCalls().filter(({ isOver }) => !isOver).length === 1);
    });

    it('survives invalid messages on its media socket, which are counted and named', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      const before = heard.samples.length;
      const bad = [
        '',
        'no json',
        '[]',
        'null',
        '{}',
        '{"event":"dance"}',
        sound(''),
        sound('A'.repeat(100_000)),
        sound('####'),
        sound('AAAA$AAA'),
      ];
      for (const text of [...bad, ...nonsense]) far.stream?.raw(text);
      await rig.clock.advanceBy(500);
      expect([call.state, call.line.counts.badMessages]).toEqual(['answered', bad.length + nonsense.length]);
      const codes = rig.errors.map((error) => (error as { code: string }).code);
      expect(codes.every((code) => code === 'CARRIER_MESSAGE_BAD')).toBe(true);
      expect(heard.samples.length - before).toBeGreaterThan(3_000);
      expect(far.stream?.violations).toEqual([]);
    });

    it('takes no more than 3 s of a flood of sound', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      const second = Buffer.alloc(8_000, 0x7f).toString('base64');
      for (let at = 0; at < 100; at++) far.stream?.raw(sound(second));
      await rig.clock.advanceBy(100);
      expect(heard.samples.length).toBeLessThan(8_000 * 5);
      expect(call.line.counts.droppedMs).toBeGreaterThan(95_000);
      expect(call.state).toBe('answered');
    });

    it('drops what was sent and not heard when the user interrupts', async () => {
      rig = open();
      const { call, far } = await rig.answered();
      for (let frame = 0; frame < 100; frame++) call.line.play(LOUD);
      await rig.clock.advanceBy(300);
      expect(far.stream?.bufferedMs).toBeGreaterThan(1_000);
      call.line.send({ type: 'clear' });
      await rig.clock.advanceBy(50);
      expect([far.stream?.bufferedMs, far.stream?.clears]).toEqual([0, 1]);
    });

    it('has its outcome of a transfer before its end where the caller hangs up meanwhile', async () => {
      rig = open();
      const { call, far } = await rig.answered();
      const heard = listen(call);
      const order: string[] = [];
      void call.line.transfer(NUMBERS.absent, new AbortController().signal).then(() => order.push('outcome'));
      call.onState((state) => order.push(state));
      await rig.clock.advanceBy(1_000);
      far.hangUp();
      await rig.until(() => call.state === 'ended');
      expect([order, heard.closed]).toEqual([['outcome', 'ended'], 1]);
      await rig.until(() => rig.double.farCalls().every(({ isOver }) => isOver));
    });

    it('goes on over another stream where the connection of the first one has died unnoticed', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      far.loseSocket();
      await rig.until(() => call.line.counts.streams === 2, 3_000);
      const before = heard.samples.length;
      await rig.clock.advanceBy(1_000);
      expect([call.state, heard.samples.length - before > 7_000]).toEqual(['answered', true]);
    });

    it.runIf(saysStop)(
      'goes on over another stream where the carrier ends the first one and leaves it open',
      async () => {
        rig = open();
        const { call, far } = await rig.answered();
        far.stream?.stopWithoutClosing();
        await rig.until(() => call.line.counts.streams === 2, 5_000);
        expect([call.state, call.line.hasStream]).toEqual(['answered', true]);
      },
    );

    it('takes pieces of sound of any length, each for what it is', async () => {
      rig = open();
      const { call, heard, far } = await rig.answered();
      const sizes = [1, 159, 161, 3, 400, 1_600, 7];
      await rig.clock.advanceBy(2_000);
      const before = heard.samples.length;
      for (const size of sizes) far.stream?.raw(sound(Buffer.alloc(size, 0x7f).toString('base64')));
      await rig.clock.advanceBy(1_000);
      const more = heard.samples.length - before - sizes.reduce((sum, size) => sum + size);
      expect(Math.abs(more - 8_000)).toBeLessThanOrEqual(160);
      expect([call.state, call.line.counts.badMessages]).toEqual(['answered', 0]);
    });

    it('is ended at the carrier, whatever that answers at first', async () => {
      rig = open();
      const { call, far } = await rig.answered();
      rig.double.faults.answers = [409, 500, 503, 400].map((status) => ({ status, body: {} }));
      call.hangUp();
      await rig.until(() => far.isOver, 60_000);
    });

    it.each([404, 409, 422])('stays with the agent where a transfer is answered by %i', async (status) => {
      rig = open();
      const { call, far } = await rig.answered();
      rig.double.faults.answers = [{ status, body: {} }];
      const outcome = await finished(call.line.transfer(NUMBERS.person, new AbortController().signal));
      expect(outcome).toEqual({ ok: false, reason: 'failed' });
      await rig.clock.advanceBy(5_000);
      expect([call.state, call.line.hasStream, far.isOver]).toEqual(['answered', true, false]);
    });

    it('is with the agent, or with the target, in whichever instant a transfer is given up', async () => {
      const reported = await answerToldAfterMs(open);
      const outcomes = new Set<boolean>();
      for (const offsetMs of [-700, -300, -120, -60, -30, -21, -19, -10, -1, 0, 1]) {
        rig = open();
        const { call, far } = await rig.answered();
        const controller = new AbortController();
        let outcome: { ok: boolean } | null = null;
        void call.line.transfer(NUMBERS.person, controller.signal).then((one) => (outcome = one));
        await rig.clock.advanceBy(reported + offsetMs);
        controller.abort();
        await rig.until(() => outcome !== null, 20_000);
        await rig.clock.advanceBy(12_000);
        const { ok } = outcome as unknown as { ok: boolean };
        outcomes.add(ok);
        const calls = rig.double.farCalls().filter(({ isOver }) => !isOver);
        expect([far.isOver, calls.length]).toEqual([false, ok ? 2 : 1]);
        if (!ok) expect([call.state, call.line.hasStream]).toEqual(['answered', true]);
        await rig.dispose();
      }
      expect(outcomes.size).toBe(2);
      rig = open();
    });
  });
}

/** Lets time pass until something is finished. */
async function finished<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  void work.finally(() => (isDone = true));
  await rig.until(() => isDone);
  return work;
}

/** How long it takes from a transfer to the word that its target has answered. */
async function answerToldAfterMs(open: FaultyCarrier['open']): Promise<number> {
  rig = open();
  const { call } = await rig.answered();
  const startMs = rig.clock.nowMs();
  await finished(call.line.transfer(NUMBERS.person, new AbortController().signal));
  const ms = rig.clock.nowMs() - startMs;
  await rig.dispose();
  return ms;
}
