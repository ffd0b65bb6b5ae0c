/** A voice agent on a line and with a model of your own; the rest are the embedded engines. */
import { type Engine, type LlmProvider, MemoryTransport } from '@parley-voice/parley';

/** Your model: whatever streams text for messages. */
const parrot: LlmProvider = {
  name: 'parrot',
  virtualTime: true, // its answers depend on the request alone
  warmUp: async () => {},
  close: async () => {},
  async *complete({ messages }) {
    yield { type: 'text', text: `You said: ${messages.at(-1)?.content ?? 'nothing'}.` };
  },
};

/**
 * Your line: give it the user's audio with `pushAudio` as it is spoken, silence included, and play what it hands out,
 * 20 ms at a time.
 */
export async function answerCall(
  engine: Engine,
  play: (frame: Int16Array | null) => void,
  log: (line: string) => void,
) {
  const line = new MemoryTransport({ sampleRateHz: 16_000, onFrame: play });
  const session = await engine.createSession({
    agent: { prompt: 'You are a parrot.', first_message: 'Hello, I am a parrot. What shall I say?' },
    transport: line,
    llm: parrot,
    observe: (event) => event.type === 'user' && log(`heard: ${event.text}`),
  });
  return { line, report: session.run() };
}
