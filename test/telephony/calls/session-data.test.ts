import { expect, it } from 'vitest';
import type { CallHistoryItem } from '../../../src/session/record/call-history.js';
import { type Delivery, MemoryOutboxStore } from '../../../src/tools/outbox.js';
import { numbersOf } from '../carriers/simulated/support.js';
import { OWN, PhoneRig } from './support.js';

const [PERSON, BUSY, ABSENT] = ['+12025550101', '+12025550102', '+12025550103'];
const NUMBERS = numbersOf(
  { number: PERSON, steps: [{ wait: 300 }, { say: 'hello?' }, { wait: 3000 }, { hangUp: true }] },
  { number: BUSY, picksUp: 'busy' },
  { number: ABSENT, picksUp: 'rings' },
);

/** Keeps what it was given, also when it is done with. */
class Watched extends MemoryOutboxStore {
  readonly items: CallHistoryItem[] = [];

  override async add(delivery: Delivery): Promise<void> {
    this.items.push(JSON.parse(delivery.body) as CallHistoryItem);
    await super.add(delivery);
  }
}

it.each([
  [PERSON, 'user-ended', 1, null],
  [BUSY, 'busy', 0, 'The line was busy. Call again later.'],
  [ABSENT, 'no-answer', 0, 'Nobody answered. Call again later, or let it ring for longer.'],
])('the webhook is told of a call to %s that it ended %s', async (to, status, fewest, error_message) => {
  const rig = new PhoneRig(NUMBERS);
  const store = new Watched();
  rig.engine.keepIn({ outboxStore: store });
  try {
    // No agent may call this address: what is sent is looked at where it is kept.
    const agent = rig.agent([], { session_data_webhook: 'http://127.0.0.1:9/ended' });
    const call = await rig.switchboard.place({ ...agent, agentId: 'a-1', from: OWN, to });
    const report = await rig.finished(call);
    await expect.poll(() => store.items.length).toBe(1);
    const [item] = store.items as [CallHistoryItem];
    expect(item).toMatchObject({
      call_status: status,
      agent_id: 'a-1',
      call_id: call.call.id,
      error_message,
      voip: { from: OWN, to, direction: 'outbound' },
      carrier_call_log: JSON.parse(JSON.stringify(report.carrier)) as object,
    });
    expect((JSON.parse(item.chat) as unknown[]).length).toBeGreaterThanOrEqual(fewest);
  } finally {
    await rig.close();
  }
});
