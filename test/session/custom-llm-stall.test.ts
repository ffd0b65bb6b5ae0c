import { expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { CustomSocketLlm } from '../../src/providers/llm/custom-socket/provider.js';
import { play, recording, saidBy } from './support.js';

it('a custom LLM server that never answers: fillers, apologies, and the end of the call, never silence', async () => {
  const sent: string[] = [];
  const llm = new CustomSocketLlm({
    dial: (events) => {
      queueMicrotask(() => events.onOpen());
      return Promise.resolve({ waitingBytes: 0, send: (text) => void sent.push(text), close: () => undefined });
    },
    facts: { agent_id: null, call_sid: null, session_id: 's1', metadata: {}, voip: null },
    clock: new VirtualClock(),
    onFinish: () => undefined,
    onFault: () => undefined,
  });
  llm.start();
  const played = await play(recording(90_000, [16_000, 17_000], [36_000, 37_000]), {
    llm,
    lines: ['are you there', 'hello again'],
    conversation: {
      opening: { firstMessage: null, userStarts: false, userStartTimeoutMs: 8000 },
      speculation: { ...DEFAULT_CONVERSATION.speculation, enabled: false },
    },
  });
  expect(played.report.status).toBe('error');
  const said = saidBy(played).join(' | ');
  expect(said).toMatch(
    /Hello, how can I help you\?.*(Let me see|One moment|Just a second).*I had trouble there.*something is wrong on my side/,
  );
  expect(sent.filter((text) => text.includes('"interrupt"')).length).toBeGreaterThanOrEqual(3);
  await llm.close();
});
