import { describe, expect, it } from 'vitest';
import { Slots } from '../../../src/providers/tts/slots.js';

const never = new AbortController().signal;

describe('places given out in turn', () => {
  it('go first come, first served', async () => {
    const slots = new Slots(2);
    expect(await slots.take(never)).toBe(0);
    expect(await slots.take(never)).toBe(1);
    const order: string[] = [];
    const a = slots.take(never).then((slot) => order.push(`a${slot}`));
    const b = slots.take(never).then((slot) => order.push(`b${slot}`));
    expect(slots.waiting).toBe(2);
    slots.give(1);
    slots.give(0);
    await Promise.all([a, b]);
    expect(order).toEqual(['a1', 'b0']);
  });

  it('are not given to who was aborted while waiting', async () => {
    const slots = new Slots(1);
    await slots.take(never);
    const gone = new AbortController();
    const aborted = slots.take(gone.signal);
    const next = slots.take(never);
    gone.abort(new Error('changed my mind'));
    await expect(aborted).rejects.toThrow('changed my mind');
    slots.give(0);
    expect(await next).toBe(0);
    await expect(slots.take(AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  });

  it('refuse all who wait and come once closed', async () => {
    const slots = new Slots(1);
    await slots.take(never);
    const waiting = slots.take(never);
    slots.close(new Error('closed'));
    slots.close(new Error('closed again'));
    await expect(waiting).rejects.toThrow(/^closed$/);
    await expect(slots.take(never)).rejects.toThrow(/^closed$/);
    expect(slots.waiting).toBe(0);
  });
});
