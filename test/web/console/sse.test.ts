import { describe, expect, it } from 'vitest';
import { EventReader } from '../../../src/web/console/sse.js';

const STREAM = ': ping\n\nevent: status\nid: 7\ndata: {"a":1}\n\ndata: one\r\ndata:two\r\n\r\nevent: nothing\n\n';

describe('server-sent events', () => {
  it.each([1, 2, 5, 1000])('are read in pieces of %i characters', (size) => {
    const reader = new EventReader();
    const events = [];
    for (let at = 0; at < STREAM.length; at += size) events.push(...reader.push(STREAM.slice(at, at + size)));
    expect(events).toEqual([
      { event: 'status', id: '7', data: '{"a":1}' },
      { event: 'message', id: '7', data: 'one\ntwo' },
    ]);
    expect(reader.lastId).toBe('7');
  });
});
