import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { AgentConfig } from '../../../agent/agent.js';
import { TOOL_NAME } from '../../../schema/text.js';
import { InvalidConfigError, parseWith } from '../../../schema/issues.js';
import type { AudioFormat } from './audio-format.js';

const formatSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('audio/pcm'), rate: z.literal(24_000).nullish() }),
  z.looseObject({ type: z.literal('audio/pcmu') }),
  z.looseObject({ type: z.literal('audio/pcma') }),
]);
const oldFormatSchema = z.enum(['pcm16', 'g711_ulaw', 'g711_alaw']);
const instructionsSchema = z.string().max(100_000);
const modalitiesSchema = z
  .array(z.enum(['text', 'audio']))
  .min(1)
  .max(2);
const transcriptionSchema = z.looseObject({ model: z.string().max(200).nullish() });
const turnDetectionSchema = z.looseObject({
  type: z.enum(['server_vad', 'semantic_vad']).nullish(),
  silence_duration_ms: z.int().min(0).max(10_000).nullish(),
  create_response: z.boolean().nullish(),
  interrupt_response: z.boolean().nullish(),
});
const toolSchema = z.looseObject({
  type: z.literal('function', 'only functions of the client are supported; MCP servers are settings of the daemon'),
  name: z.string().regex(TOOL_NAME, 'Input should be 1 to 64 letters, digits, _ or -'),
  description: z.string().max(20_000).nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
});
const voiceSchema = z.union([z.string().min(1).max(200), z.looseObject({ id: z.string().min(1).max(200) })]);
const tokensSchema = z.union([z.int().min(1), z.literal('inf')]);

/** A session of the interface, and of its beta (the second half). What is not named here has no effect. */
export const sessionSchema = z.looseObject({
  type: z.literal('realtime', 'only realtime sessions are supported').nullish(),
  model: z.string().max(200).nullish(),
  instructions: instructionsSchema.nullish(),
  output_modalities: modalitiesSchema.nullish(),
  audio: z
    .looseObject({
      input: z
        .looseObject({
          format: formatSchema.nullish(),
          transcription: transcriptionSchema.nullish(),
          turn_detection: turnDetectionSchema.nullish(),
        })
        .nullish(),
      output: z.looseObject({ format: formatSchema.nullish(), voice: voiceSchema.nullish() }).nullish(),
    })
    .nullish(),
  tools: z.array(toolSchema).max(128).nullish(),
  tool_choice: z.union([z.enum(['auto', 'none']), z.null()], 'only auto and none are supported').nullish(),
  modalities: modalitiesSchema.nullish(),
  input_audio_format: oldFormatSchema.nullish(),
  output_audio_format: oldFormatSchema.nullish(),
  input_audio_transcription: transcriptionSchema.nullish(),
  turn_detection: turnDetectionSchema.nullish(),
  voice: voiceSchema.nullish(),
  prompt: z.null('stored prompts are not supported: the agent has its own').nullish(),
  max_output_tokens: tokensSchema.nullish(),
});

export type SessionRequestBody = z.output<typeof sessionSchema>;

/** A function of the client, as the session has it. */
export type SessionTool = z.output<typeof toolSchema>;

type TurnDetection = z.output<typeof turnDetectionSchema>;

/** How long a turn detection of the client may make a turn wait. */
const DEFAULT_SILENCE_MS = 500;
/** OpenAI's voices. Agents with voices of other vendors keep their own. */
const OPENAI_VOICES: ReadonlySet<string> = new Set(
  'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' '),
);

/** What a client has asked of its session. */
export class SessionConfig {
  readonly id = `sess_${randomUUID().replaceAll('-', '')}`;
  readonly model: string;
  instructions = '';
  modality: 'audio' | 'text' = 'audio';
  input: AudioFormat = 'pcm';
  output: AudioFormat = 'pcm';
  transcription: Readonly<Record<string, unknown>> | null = null;
  /** Null = the client ends turns and asks for answers itself. */
  turnDetection: TurnDetection | null = { type: 'server_vad' };
  voice: string | null = null;
  tools: readonly SessionTool[] = [];
  toolChoice: 'auto' | 'none' = 'auto';
  #expiresAt: number;

  /** @param expiresAt Unix seconds */
  constructor(model: string, expiresAt: number) {
    this.model = model;
    this.#expiresAt = expiresAt;
  }

  /** Whether answers begin only with a `response.create`. */
  get isManual(): boolean {
    return this.turnDetection === null || this.turnDetection.create_response === false;
  }

  /** The functions that the model may call. */
  get offered(): readonly SessionTool[] {
    return this.toolChoice === 'none' ? [] : this.tools;
  }

  /**
   * Takes what the client gives; what it leaves out stays.
   * @param hasAudio the session's formats, voice and modality are in use
   * @throws InvalidConfigError; then nothing has changed
   */
  update(value: unknown, { hasAudio, place }: { hasAudio: boolean; place: string }): void {
    const given = parseWith(sessionSchema, value, [place]);
    const { audio } = given;
    const next = {
      modality: modalityOf(given.output_modalities ?? given.modalities) ?? this.modality,
      input: formatOf(audio?.input?.format?.type ?? given.input_audio_format) ?? this.input,
      output: formatOf(audio?.output?.format?.type ?? given.output_audio_format) ?? this.output,
      voice: voiceOf(audio?.output?.voice ?? given.voice) ?? this.voice,
    };
    if (given.model != null && given.model !== this.model) throw fixed(`${place}.model`, 'the model');
    if (hasAudio) {
      for (const name of ['modality', 'input', 'output', 'voice'] as const) {
        if (next[name] !== this[name]) throw fixed(place, NAMES[name]);
      }
    }
    const names = (given.tools ?? []).map(({ name }) => name);
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) throw fault([place, 'tools'], `two tools are called ${twice}`);
    Object.assign(this, next);
    this.instructions = given.instructions ?? this.instructions;
    this.tools = given.tools ?? this.tools;
    this.toolChoice = given.tool_choice ?? this.toolChoice;
    const transcription = audio?.input?.transcription ?? given.input_audio_transcription;
    if (transcription !== undefined || audio?.input?.transcription === null) this.transcription = transcription ?? null;
    const detection = audio?.input?.turn_detection === undefined ? given.turn_detection : audio.input.turn_detection;
    if (detection !== undefined) this.turnDetection = detection;
  }

  /**
   * The agent as the session has it.
   * @param replacesPrompt the instructions take the place of the agent's own prompt
   */
  override(agent: AgentConfig, replacesPrompt: boolean): AgentConfig {
    const changes: AgentConfig = {};
    const flow: Record<string, unknown> = {};
    if (this.instructions !== '') changes.prompt = this.prompt(agent, replacesPrompt);
    const voice = this.#voiceFor(agent);
    if (voice !== null) changes.voice = voice;
    const { turnDetection } = this;
    if (turnDetection?.silence_duration_ms != null) {
      flow['response_delay'] = turnDetection.silence_duration_ms;
    }
    if (turnDetection?.interrupt_response === false) {
      flow['interruption'] = Object.assign({}, agent.flow?.interruption, { allowed: false });
    }
    if (this.isManual) flow['user_start_first'] = true;
    if (Object.keys(flow).length > 0) changes.flow = Object.assign({}, agent.flow, flow);
    return changes;
  }

  /** The agent's prompt with the instructions. */
  prompt(agent: AgentConfig, replacesPrompt: boolean): string {
    const own = replacesPrompt ? '' : (agent.prompt ?? '');
    return [own, this.instructions].filter((part) => part !== '').join('\n\n');
  }

  /** As `session.created` and `session.updated` have it. */
  wire(isBeta: boolean): object {
    const { id, model, instructions, tools, transcription } = this;
    const detection = this.turnDetection;
    const turnDetection =
      detection === null
        ? null
        : {
            type: detection.type ?? 'server_vad',
            threshold: 0.5,
            prefix_padding_ms: 300,
            silence_duration_ms: detection.silence_duration_ms ?? DEFAULT_SILENCE_MS,
            create_response: detection.create_response ?? true,
            interrupt_response: detection.interrupt_response ?? true,
          };
    const both = { id, object: 'realtime.session', model, instructions, tools, expires_at: this.#expiresAt };
    const choice = { tool_choice: this.toolChoice };
    if (isBeta) {
      return Object.assign(both, choice, {
        modalities: this.modality === 'text' ? ['text'] : ['text', 'audio'],
        voice: this.voice,
        input_audio_format: OLD_NAMES[this.input],
        output_audio_format: OLD_NAMES[this.output],
        input_audio_transcription: transcription,
        turn_detection: turnDetection,
        temperature: 0.8,
        max_response_output_tokens: 'inf',
      });
    }
    return Object.assign(both, choice, {
      type: 'realtime',
      output_modalities: [this.modality],
      audio: {
        input: {
          format: wireFormat(this.input),
          transcription,
          noise_reduction: null,
          turn_detection: turnDetection,
        },
        output: { format: wireFormat(this.output), voice: this.voice, speed: 1 },
      },
      max_output_tokens: 'inf',
      tracing: null,
      prompt: null,
      truncation: 'disabled',
      include: null,
    });
  }

  #voiceFor(agent: AgentConfig): AgentConfig['voice'] | null {
    if (this.voice === null) return null;
    const provider = agent.voice?.provider ?? null;
    if (OPENAI_VOICES.has(this.voice) && provider?.startsWith('openai') !== true) return null;
    const [, named, id] = /^([a-z0-9-]+)\/(.+)$/.exec(this.voice) ?? [];
    const chosen = named ?? provider;
    if (chosen === null) return null;
    return { provider: chosen, voice_id: id ?? this.voice };
  }
}

const NAMES = {
  modality: 'output_modalities',
  input: 'the input format',
  output: 'the output format',
  voice: 'the voice',
};
const OLD_NAMES = { pcm: 'pcm16', mulaw: 'g711_ulaw', alaw: 'g711_alaw' };

function wireFormat(format: AudioFormat): object {
  if (format === 'pcm') return { type: 'audio/pcm', rate: 24_000 };
  return { type: format === 'mulaw' ? 'audio/pcmu' : 'audio/pcma' };
}

function formatOf(name: string | null | undefined): AudioFormat | null {
  if (name == null) return null;
  if (name === 'audio/pcm' || name === 'pcm16') return 'pcm';
  return name === 'audio/pcmu' || name === 'g711_ulaw' ? 'mulaw' : 'alaw';
}

function modalityOf(given: readonly ('text' | 'audio')[] | null | undefined): 'audio' | 'text' | null {
  if (given == null) return null;
  return given.includes('audio') ? 'audio' : 'text';
}

function voiceOf(given: z.output<typeof voiceSchema> | null | undefined): string | null {
  if (given == null) return null;
  return typeof given === 'string' ? given : given.id;
}

function fixed(place: string, what: string): InvalidConfigError {
  return fault([place], `${what} cannot change any more in this session`);
}

function fault(loc: readonly (string | number)[], msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}
