import { describe, expect, it } from 'vitest';
import { LineFeed } from '../../../src/cli/talk.js';

function feed(patient: boolean): { feed: LineFeed; log: string[] } {
  const log: string[] = [];
  return {
    feed: new LineFeed(
      patient,
      (line) => log.push(line),
      () => log.push('(done)'),
    ),
    log,
  };
}

describe('lines', () => {
  it('that a person types go at once', () => {
    const { feed: lines, log } = feed(false);
    lines.line('one');
    lines.line('two');
    lines.end();
    expect(log).toEqual(['one', 'two', '(done)']);
  });

  it('that are piped in wait for the greeting, and then for each answer', () => {
    const { feed: lines, log } = feed(true);
    lines.line('one');
    lines.line('two');
    lines.end();
    expect(log).toEqual([]);
    lines.answered();
    expect(log).toEqual(['one']);
    lines.answered();
    lines.answered();
    expect(log).toEqual(['one', 'two', '(done)']);
  });

  it('that come late go when the last one has been answered already', () => {
    const { feed: lines, log } = feed(true);
    lines.answered();
    lines.line('one');
    lines.line('two');
    expect(log).toEqual(['one']);
  });
});
