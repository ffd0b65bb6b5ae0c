/**
 * What the conversation core costs: microseconds a step, and per 20 ms of a conversation in which nobody speaks, and of
 * one in which somebody always does.
 *
 *   npm run build && node bench/run.mjs conversation
 *
 * Two conversations are played once on a stage; the steps that this took are then given to fresh conversations again and
 * again, the two in turns.
 */
import { Conversation } from '../dist/conversation/conversation.js';
import { DEFAULT_CONVERSATION, type ConversationConfig } from '../dist/agent/flow/conversation-config.js';
import { Stage } from '../dist/stage/stage.js';
import type { Timeline } from '../dist/stage/timeline.js';

const ROUNDS = 40;
const REPLAYS = 20;
const LENGTH_MS = 120_000;

interface Contender {
  readonly name: string;
  readonly steps: Timeline['events'];
  readonly config: ConversationConfig;
  readonly costMs: number[];
}

const contenders = [contender('idle', idle()), contender('talking', talking())];
for (let round = 0; round < ROUNDS; round++) for (const each of contenders) measure(each);
console.table(
  Object.fromEntries(
    contenders.map(({ name, steps, costMs }) => {
      const cost = median(costMs) / REPLAYS;
      return [
        name,
        {
          'steps a minute': Math.round((steps.length * 60_000) / LENGTH_MS),
          'us a step': Number(((cost * 1000) / steps.length).toFixed(2)),
          'us per 20 ms': Number(((cost * 1000) / (LENGTH_MS / 20)).toFixed(3)),
          'conversations of an hour, per core-second': Math.round((1000 / cost) * (LENGTH_MS / 3_600_000)),
        },
      ];
    }),
  ),
);

function contender(name: string, stage: Stage): Contender {
  const config = { ...DEFAULT_CONVERSATION, inactivity: { idleMs: 8000, message: 'Are you there?' } };
  return { name, steps: stage.playTo(LENGTH_MS).timeline.events, config, costMs: [] };
}

/** A greeting, then only the agent's own question from time to time. */
function idle(): Stage {
  return new Stage({ config: { inactivity: { idleMs: 8000, message: 'Are you there?' } } });
}

/** The user asks, the model calls a tool and answers in three sentences; now and then somebody says "mm-hm" or "no". */
function talking(): Stage {
  const stage = new Stage({ config: { inactivity: { idleMs: 8000, message: 'Are you there?' } } });
  stage.tools.answers('tables', '3 free');
  for (let turn = 0, atMs = 2000; atMs < LENGTH_MS; turn++, atMs += 9000) {
    stage.model.calls([{ name: 'tables' }], { saying: 'One moment, I am having a look.' });
    stage.model.says('There are three tables. One is by the window, two are outside. Which one would you like?');
    stage.user.says('I would like a table for four people this evening.', { from: atMs, to: atMs + 2500 });
    stage.user.says(turn % 2 === 0 ? 'mm-hm' : 'no wait', { from: atMs + 6500, to: atMs + 7000 });
  }
  return stage;
}

function measure({ steps, config, costMs }: Contender): void {
  const startMs = performance.now();
  for (let replay = 0; replay < REPLAYS; replay++) {
    const conversation = new Conversation(config);
    for (const { event, atMs, position } of steps) {
      conversation.step(event, atMs, position);
      if (conversation.nextDeadlineMs === Infinity) throw new Error('a deadline that never comes');
    }
  }
  costMs.push(performance.now() - startMs);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
