import * as z from 'zod';
import { fileJsonSchema } from '../../schema/source.js';
import { LOOPBACK_LINES } from '../../transports/loopback/open-line.js';
import { callerSchema } from './caller-schema.js';
import { expectationSchema, argumentsSchema } from './expectation-schema.js';

const reply = {
  result: z.unknown().optional().describe('What the model gets: text, or a value to send as JSON.'),
  error: z.string().min(1).max(2000).optional().describe('The call fails with this text.'),
  delay_ms: z.number().min(0).max(120_000).optional().describe('How long it takes. Default 100.'),
};

/** What stands in for a tool: one reply, or replies in sequence (the last one repeats). */
export const toolMockSchema = z.union([
  z.strictObject({
    ...reply,
    when: argumentsSchema.optional().describe('Only for calls with such arguments; others fail, and fail the case.'),
  }),
  z.strictObject({
    sequence: z
      .array(z.strictObject({ ...reply, when: argumentsSchema.optional() }))
      .min(1)
      .max(100)
      .describe('Replies to the first, second … call. With `when`: the first reply whose arguments match.'),
  }),
  z.strictObject({ real: z.literal(true) }).describe('Calls the real tool.'),
]);

export type ToolMock = z.infer<typeof toolMockSchema>;
export type MockReply = Extract<ToolMock, { sequence: unknown }>['sequence'][number];

const name = z.string().min(1).max(120);
const milliseconds = z.number().min(0).max(600_000);

/** What the line does to the caller's voice and to the agent's. Voice mode only. */
export const lineSchema = z.strictObject({
  transport: z
    .enum(['simulated', ...LOOPBACK_LINES])
    .optional()
    .describe(
      'What carries the call: a simulated phone network (default), in virtual time, or a real transport over loopback, in real time.',
    ),
  codec: z
    .enum(['mulaw', 'alaw', 'g722', 'opus', 'pcm'])
    .optional()
    .describe(
      'Codec of both directions. Default mulaw (G.711, telephone band); the talk socket is pcm, WebRTC is opus.',
    ),
  loss: z.number().min(0).max(0.5).optional().describe('Share of packets that are lost, 0 to 0.5. Default 0.'),
  delay_ms: milliseconds.max(500).optional().describe('Delay of a packet in ms. Default 40; 0 over RTP.'),
  jitter_ms: milliseconds.max(300).optional().describe('Packets arrive up to this much later, in ms. Default 0.'),
  buffer_ms: milliseconds
    .max(500)
    .optional()
    .describe('Jitter that the receiver waits for, in ms; later packets are lost. Default 60.'),
  noise: z
    .strictObject({
      kind: z.enum(['white', 'pink']).optional().describe('Default pink.'),
      file: z.string().min(1).optional().describe('A WAV file to repeat as noise, in place of `kind`.'),
      snr_db: z.number().min(-10).max(60).describe("Level of the caller's speech above the noise, in dB."),
    })
    .optional()
    .describe('Noise around the caller. Default none.'),
  echo: z
    .strictObject({
      level_db: z.number().min(-60).max(0).describe("Level of the echo relative to the agent's voice, in dB."),
      delay_ms: milliseconds.max(1000).optional().describe('Default 120.'),
    })
    .optional()
    .describe("The agent's voice returns from the caller's device. Default none."),
});

/** The caller's voice. Voice mode only. */
export const voiceSchema = z.strictObject({
  provider: z.string().min(1).optional().describe('A TTS provider. Default flite.'),
  voice_id: z.string().min(1).optional().describe("The provider's voice. Default rms."),
  settings: z.record(z.string(), z.unknown()).optional().describe("The provider's own settings."),
});

const shared = {
  caller: callerSchema.optional(),
  direction: z
    .enum(['inbound', 'outbound'])
    .optional()
    .describe('Who calls: the caller calls the agent (inbound, default) or the agent calls them.'),
  metadata: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Metadata of the session; its members are variables.'),
  phones: z
    .strictObject({ from: z.string(), to: z.string() })
    .optional()
    .describe('The two numbers of the call, for {FromPhone} and {ToPhone}.'),
  start: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('When the call begins, ISO 8601. Default 2026-06-15T12:00:00Z, a Monday.'),
  tools: z
    .record(z.string(), toolMockSchema)
    .optional()
    .describe('Mocks by tool name; `"*"` mocks all others. Tools without a mock are called for real.'),
  transfers: z
    .record(z.string(), z.enum(['ok', 'busy', 'no-answer', 'rejected', 'voicemail', 'declined', 'failed']))
    .optional()
    .describe('What becomes of transfers, by target; `"*"` is any other. Default ok.'),
  line: lineSchema.optional(),
  voice: voiceSchema.optional(),
  max_duration_s: z.number().min(1).max(3600).optional().describe('The caller hangs up after this long. Default 300.'),
  runs: z.number().int().min(1).max(1000).optional().describe('How often to run each case. Default 1.'),
  pass_rate: z.number().min(0).max(1).optional().describe('Share of the runs that has to pass. Default 1.'),
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 31)
    .optional()
    .describe('Seed of the first run. Default 1.'),
};

export const caseSchema = z.strictObject({
  name: name.describe('Unique in the suite.'),
  description: z.string().max(2000).optional(),
  tags: z.array(name).max(20).optional().describe('`--only` also selects cases by tag.'),
  modes: z
    .array(z.enum(['text', 'voice']))
    .min(1)
    .optional()
    .describe('Modes that the case is for. Default both.'),
  ...shared,
  expect: z.array(expectationSchema).min(1).max(100).describe('Every expectation has to hold.'),
});

export const suiteSchema = z.strictObject({
  $schema: z.string().optional(),
  name,
  description: z.string().max(2000).optional(),
  agent: z.string().min(1).optional().describe('The agent file, relative to the suite. `--agent` replaces it.'),
  judge: z
    .strictObject({
      model: z.string().min(1).describe('A configured language model.'),
      votes: z.number().int().min(1).max(9).optional().describe('Odd; the majority decides. Default 1.'),
    })
    .optional()
    .describe('The model of `judge` expectations that name none.'),
  persona_model: z.string().min(1).optional().describe('The model of personas that name none. Default: embedded.'),
  defaults: z.strictObject(shared).optional().describe('Values for cases that leave them out.'),
  cases: z.array(caseSchema).min(1).max(1000),
});

/** A test suite of an agent, as its file has it. */
export type EvalSuite = z.infer<typeof suiteSchema>;
/** One case of a suite, as its file has it. */
export type EvalCase = z.infer<typeof caseSchema>;
export type LineConditions = z.infer<typeof lineSchema>;
export type CallerVoice = z.infer<typeof voiceSchema>;

/** `text`: the caller types and the agent's voice is silent. `voice`: both speak. */
export type EvalMode = 'text' | 'voice';

/** JSON Schema of suite files, for editors; `data/eval-suite.schema.json` holds it. */
export function suiteJsonSchema(): Readonly<Record<string, unknown>> {
  return fileJsonSchema(suiteSchema, 'parley test suite', 'A test suite of `parley eval`.');
}
