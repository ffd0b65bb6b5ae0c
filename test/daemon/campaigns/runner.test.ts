import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvalidConfigError } from '../../../src/schema/issues.js';
import { ParleyError } from '../../../src/base/errors.js';
import { Random } from '../../../src/base/random.js';
import type { CampaignSchedule } from '../../../src/settings/campaign-schedule.js';
import { newNumbers as numbers } from '../../store/support/campaigns.js';
import { checkCalls } from './support/call-rules.js';
import { ALWAYS, CampaignRig, fastSqlite, START } from './support/campaign-rig.js';

const DAY_MS = 86_400_000;

let rig: CampaignRig;
beforeEach(async () => {
  rig = await CampaignRig.open(fastSqlite);
});
afterEach(() => rig.close());

describe('a campaign', () => {
  it('calls everybody once and is finished', async () => {
    await rig.campaign('a', numbers(20));
    rig.resume();
    await rig.clock.advanceBy(600_000);
    expect(rig.placed.map(({ to }) => to)).toEqual(numbers(20));
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
    expect((await rig.all('a')).every(({ status, attempts }) => status === 'finished' && attempts === 1)).toBe(true);
  });

  it('calls nobody else when it is stopped, and goes on later', async () => {
    await rig.campaign('a', numbers(10));
    rig.resume();
    await rig.clock.advanceBy(2500);
    await rig.campaigns.change('a', { status: 'paused' });
    await rig.node.runner.stopped('a');
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(3);
    expect(await rig.records.counts('a')).toMatchObject({ finished: 3, not_started: 7 });
    await rig.campaigns.change('a', { status: 'started' });
    rig.node.runner.reschedule();
    await rig.clock.advanceBy(600_000);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
    expect(rig.placed).toHaveLength(10);
  });

  it('is finished, also when it was stopped, with the end of its last call', async () => {
    await rig.campaign('a', numbers(1));
    rig.resume();
    await rig.clock.advanceBy(10);
    await rig.campaigns.change('a', { status: 'paused' });
    await rig.node.runner.stopped('a');
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'paused' });
    await rig.clock.advanceBy(60_000);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });

  it('fails, its records untouched, where it cannot call', async () => {
    rig.guard = () => {
      throw new ParleyError('AGENT_DISABLED');
    };
    await rig.campaign('a', numbers(3));
    rig.resume();
    await rig.clock.advanceBy(1000);
    expect(await rig.campaigns.get('a')).toMatchObject({
      status: 'failed',
      reason: 'This agent is disabled and takes no calls',
    });
    expect(await rig.records.counts('a')).toMatchObject({ not_started: 3 });
  });

  it('does not call whom it must not, and tells why', async () => {
    const [first = '', second = ''] = numbers(3);
    rig.guard = ({ to }) => {
      if (to === first) throw new ParleyError('DO_NOT_CALL', { number: to });
      const issue = { loc: ['body', 'to_phone'], msg: 'no such number', type: 'phone' };
      if (to === second) throw new InvalidConfigError([issue]);
    };
    await rig.campaign('a', numbers(3));
    rig.resume();
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(1);
    expect((await rig.all('a')).map(({ status, reason, attempts }) => [status, reason, attempts])).toEqual([
      ['failed', `${first} is on the do-not-call list`, 0],
      ['failed', 'no such number', 0],
      ['finished', null, 1],
    ]);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });

  it("waits where the operator's limits are reached, without counting it as a call", async () => {
    rig.guard = () => {
      if (rig.placed.some(({ endMs }) => endMs > rig.nowMs)) {
        throw new ParleyError('LIMIT_CONCURRENT_CALLS', { limit: 1, retryAfterS: 1 });
      }
    };
    await rig.campaign('a', numbers(4));
    await rig.campaign('b', numbers(4, '+1312555'));
    rig.resume();
    await rig.clock.advanceBy(3_600_000);
    expect(rig.placed).toHaveLength(8);
    expect(rig.placed.map(({ campaignId }) => campaignId).join('')).toMatch(/^(ab|ba){4}$/);
    expect([...(await rig.all('a')), ...(await rig.all('b'))].every(({ attempts }) => attempts === 1)).toBe(true);
  });

  it('postpones only whom the limits of a number hold up', async () => {
    const [first = ''] = numbers(1);
    rig.guard = ({ to }) => {
      if (to === first && rig.nowMs < START + 300_000) {
        throw new ParleyError('LIMIT_DESTINATION_PER_MINUTE', { limit: 1, retryAfterS: 60 });
      }
    };
    await rig.campaign('a', numbers(3));
    rig.resume();
    await rig.clock.advanceBy(60_000);
    expect(rig.placed.map(({ to }) => to)).toEqual(numbers(3).slice(1));
    await rig.clock.advanceBy(600_000);
    expect((await rig.all('a')).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  it('places no calls while the daemon is shutting down', async () => {
    await rig.campaign('a', numbers(3));
    rig.resume();
    await rig.clock.advanceBy(1500);
    rig.isOpen = false;
    await rig.clock.advanceBy(600_000);
    expect(rig.placed).toHaveLength(2);
  });

  it('does not call whom was deleted while the agent was being checked', async () => {
    rig.guard = async () => void (await rig.records.remove((await rig.all('a'))[0]?.seq ?? 0));
    await rig.campaign('a', numbers(1));
    rig.resume();
    await rig.clock.advanceBy(1000);
    expect(rig.placed).toEqual([]);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });

  it('counts a call that the shutdown has cut off as broken off', async () => {
    rig.outcome = () => ({ status: 'api-ended', afterMs: 1000 });
    await rig.campaign('a', numbers(1));
    rig.resume();
    await rig.clock.advanceBy(10);
    rig.node.runner.shut();
    await rig.clock.advanceBy(2000);
    await rig.node.runner.close();
    expect((await rig.all('a'))[0]).toMatchObject({ status: 'started', attempts: 1, calling: false });
    expect((await rig.all('a'))[0]?.dueMs).toBe(rig.placed[0]!.endMs + 300_000);
  });
});

describe('a log that does not tell of an end', () => {
  it('is not waited for for ever', async () => {
    rig.isDeaf = true;
    await rig.campaign('a', numbers(2));
    rig.resume();
    await rig.clock.advanceBy(62_000);
    expect(await rig.records.counts('a')).toMatchObject({ started: 2 });
    await rig.clock.advanceBy(60_000);
    expect(await rig.records.counts('a')).toMatchObject({ finished: 2 });
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
  });
});

describe('after a crash', () => {
  it('settles what was under way, and calls nobody twice for the same reason', async () => {
    await rig.campaign('a', numbers(30));
    rig.resume();
    for (let round = 0; round < 12; round++) {
      await rig.clock.advanceBy(1700);
      const { runner } = rig.restart();
      await runner.recover(null);
      runner.resume();
    }
    await rig.clock.advanceBy(DAY_MS);
    expect(rig.faults).toEqual([]);
    expect(await rig.campaigns.get('a')).toMatchObject({ status: 'finished' });
    for (const { phone, status, attempts } of await rig.all('a')) {
      expect(rig.placed.filter(({ to }) => to === phone)).toHaveLength(attempts);
      expect(['finished', 'failed']).toContain(status);
      expect(attempts).toBeLessThanOrEqual(2); // one more after an error
    }
  });

  it('takes the end from the call log where there is one', async () => {
    await rig.campaign('a', numbers(1));
    rig.resume();
    await rig.clock.advanceBy(10);
    rig.isDeaf = true;
    const sessionId = (await rig.all('a'))[0]?.sessionId;
    await rig.clock.advanceBy(70_000);
    await rig.restart().runner.recover(null);
    expect((await rig.all('a'))[0]).toMatchObject({ status: 'finished', attempts: 1, sessionId });
  });
});

describe('a campaign of a thousand', () => {
  it('keeps every rule from the first call to the last', async () => {
    const random = new Random(7);
    const schedule = {
      concurrent: 8,
      perMinute: 20,
      hoursStart: '09:00',
      hoursEnd: '18:00',
      days: ['mon', 'tue', 'wed', 'thu', 'fri'],
      retryVoicemailS: [7200],
    } satisfies Partial<CampaignSchedule>;
    const big = await CampaignRig.open(fastSqlite, { schedule });
    try {
      const places = ['+1202555', '+1213555', '+1312555', '+4420794', '+4930231', '+6128555', '+8001234'];
      const phones = Array.from({ length: 1000 }, (_, index) => `${places[index % 7] ?? ''}${String(5000 + index)}`);
      big.outcome = (_request, attempt) => {
        const draw = random.next();
        if (draw < 0.2) return { status: 'busy', afterMs: 1000 };
        if (draw < 0.45) return { status: 'no-answer', afterMs: 45_000 };
        if (draw < 0.6) return { status: 'voicemail-hangup', afterMs: 20_000 };
        if (draw < 0.62) return { status: 'error', afterMs: 5000 };
        return { status: attempt % 2 === 0 ? 'agent-ended' : 'user-ended', afterMs: 10_000 + random.int(0, 120_000) };
      };
      await big.campaign('a', phones);
      big.resume();
      await big.clock.advanceBy(21 * DAY_MS);
      expect(big.faults).toEqual([]);
      expect(await big.campaigns.get('a')).toMatchObject({ status: 'finished' });
      checkCalls(big.placed, { ...ALWAYS, ...schedule }, 1000);
    } finally {
      await big.close();
    }
  }, 60_000);
});
