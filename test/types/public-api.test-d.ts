/**
 * What embedders' compilers see. Nothing here runs: `npm run typecheck` reads it, and a line that promises too much or
 * an `@ts-expect-error` that nothing answers fails it.
 */
import { expectTypeOf } from 'vitest';
import {
  type AgentConfig,
  type Cancel,
  type Clock,
  type Conversation,
  type ConversationEffect,
  type ConversationEvent,
  decodeWav,
  encodeWav,
  Engine,
  type ErrorCode,
  type ErrorDetails,
  type LineStats,
  type MayTransfer,
  type TickerOptions,
  type LlmProvider,
  type MemoryTransport,
  type ParleyError,
  parseAgentConfig,
  type RealClock,
  type Session,
  type SessionReport,
  type SessionRequest,
  type SttProvider,
  Ticker,
  type Transport,
  type TtsProvider,
  type VadProvider,
  VirtualClock,
  type WavAudio,
} from '../../src/index.js';
import {
  type Answer,
  assertNothingLeft,
  energyVad,
  functionLlm,
  type Labels,
  promptedStt,
  readLabels,
  runningResources,
  toneTts,
} from '../../src/testing/index.js';

declare const engine: Engine;
declare const transport: Transport;
declare const agent: AgentConfig;

// An engine needs nothing, a session an agent and a transport.
expectTypeOf(Engine).toBeConstructibleWith();
expectTypeOf(engine.createSession({ agent, transport })).resolves.toEqualTypeOf<Session>();
// @ts-expect-error a session without a transport could neither hear nor speak
void engine.createSession({ agent });
// @ts-expect-error misspelt settings are found by the compiler
void engine.createSession({ agent, transport, langauge: 'en' });
expectTypeOf<SessionRequest['llm']>().toEqualTypeOf<LlmProvider | undefined>();
expectTypeOf<Session['run']>().returns.resolves.toEqualTypeOf<SessionReport>();
expectTypeOf<Session['close']>().returns.resolves.toEqualTypeOf<SessionReport>();

// Agents come from outside: whatever it was, afterwards it is one.
expectTypeOf(parseAgentConfig).parameter(0).toBeUnknown();

// Time: both clocks are clocks; a ticker takes either.
expectTypeOf<RealClock>().toExtend<Clock>();
expectTypeOf<VirtualClock>().toExtend<Clock>();
expectTypeOf(Ticker).toBeConstructibleWith(new VirtualClock());
expectTypeOf<Clock['schedule']>().returns.toEqualTypeOf<Cancel>();

// The core: plain data in and out.
expectTypeOf<Conversation['step']>().parameter(0).toEqualTypeOf<ConversationEvent>();
expectTypeOf<Conversation['step']>().returns.toExtend<readonly ConversationEffect[]>();

// Providers of the embedder's own.
const echo = {
  name: 'echo',
  virtualTime: true,
  warmUp: () => Promise.resolve(),
  close: () => Promise.resolve(),
  async *complete(request) {
    await Promise.resolve();
    yield { type: 'text', text: request.messages.at(-1)?.role ?? '' };
  },
} satisfies LlmProvider;
expectTypeOf(engine.createSession({ agent, transport, llm: echo })).resolves.toEqualTypeOf<Session>();
// @ts-expect-error half a provider is none
void engine.createSession({ agent, transport, llm: { name: 'half' } });

// Sound.
expectTypeOf(decodeWav).returns.toEqualTypeOf<WavAudio>();
expectTypeOf(encodeWav).returns.toExtend<Uint8Array>();
expectTypeOf<MemoryTransport>().toExtend<Transport>();

// Errors: a code of the catalogue, never any text.
expectTypeOf<ParleyError['code']>().toEqualTypeOf<ErrorCode>();
expectTypeOf<string>().not.toExtend<ErrorCode>();
expectTypeOf<'SESSION_CLOSED'>().toExtend<ErrorCode>();

// Doubles fit where the real ones do.
expectTypeOf(energyVad()).toExtend<VadProvider>();
expectTypeOf(toneTts()).toExtend<TtsProvider>();
expectTypeOf(promptedStt).returns.toExtend<SttProvider>();
expectTypeOf(functionLlm).returns.toExtend<LlmProvider>();
expectTypeOf<{ stall: true }>().toExtend<Answer>();

// Labels and leaks.
expectTypeOf(readLabels('a.lab')).toEqualTypeOf<Labels>();
expectTypeOf<Labels['speech'][number]['startMs']>().toBeNumber();
expectTypeOf(assertNothingLeft(runningResources())).resolves.toBeVoid();

// What signatures name has a name for users too.
expectTypeOf<ConstructorParameters<typeof ParleyError>[1]>().toEqualTypeOf<ErrorDetails | undefined>();
expectTypeOf<ConstructorParameters<typeof Ticker>[1]>().toEqualTypeOf<TickerOptions | undefined>();
expectTypeOf<ReturnType<MayTransfer>>().toEqualTypeOf<string | null | Promise<string | null>>();
expectTypeOf<LineStats>().toBeObject();
expectTypeOf<{ models: undefined; speculation: undefined }>().toExtend<
  NonNullable<ConstructorParameters<typeof Engine>[0]>
>();
