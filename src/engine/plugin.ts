import type { LlmProvider } from '../providers/llm/llm.js';
import type { SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { TurnModel } from '../providers/turn/turn.js';
import type { VadProvider } from '../providers/vad/vad.js';
import type { DefinedTool } from '../tools/define-tool.js';

/** Makes a part on first use. The engine closes it. */
export type Maker<Part> = () => Part;

/** What an embedder adds to an engine, by the names that agents and settings use. */
export interface EnginePlugin {
  /** For messages, such as `acme`. */
  name: string;
  /** Functions that agents name in `extensions.functions`. */
  functions?: readonly DefinedTool[];
  /** Recognisers by the name for `speech_to_text.provider`. */
  stt?: Readonly<Record<string, Maker<SttProvider>>>;
  /** Voices by the name for `voice.provider`. */
  tts?: Readonly<Record<string, Maker<TtsProvider>>>;
  /** Language models by the id for `llm.model`, or by a prefix that ends in `*`, such as `acme/*`. */
  llm?: Readonly<Record<string, Maker<LlmProvider>>>;
  /** Voice activity detection by the name for the setting `vad`. */
  vad?: Readonly<Record<string, Maker<VadProvider>>>;
  /** Audio models for the end of a turn, by the name for the setting `turnModel`. */
  turn?: Readonly<Record<string, Maker<TurnModel>>>;
  /**
   * Replaces what must not be stored in a text of a conversation. Applied to event logs, call logs, webhooks, memories and
   * kept conversations, never to what the model or the user gets. A text for which it throws is not stored.
   */
  redact?: (text: string) => string;
  /** The file that it was loaded from: engines in other threads load it, too. Default: it stays in this thread. */
  file?: string;
}

export const PROVIDER_KINDS = ['stt', 'tts', 'llm', 'vad', 'turn'] as const;

/** What of a plug-in cannot be used by an engine in another thread, unless that loads its file. */
export function staysInThread(plugin: EnginePlugin): boolean {
  const parts = [...PROVIDER_KINDS, 'redact'] as const;
  return plugin.file === undefined && parts.some((part) => plugin[part] !== undefined);
}

/** Whether one of these ids, or prefixes that end in `*`, is that of a model. */
export function hasModel(patterns: Iterable<string>, model: string): boolean {
  return [...patterns].some((pattern) =>
    pattern.endsWith('*')
      ? model.startsWith(pattern.slice(0, -1)) && model.length >= pattern.length
      : pattern === model,
  );
}

/** All functions of plug-ins by name. Their names are checked when plug-ins are loaded. */
export function functionsOf(plugins: readonly EnginePlugin[]): ReadonlyMap<string, DefinedTool> {
  return new Map(plugins.flatMap(({ functions = [] }) => functions.map((tool) => [tool.name, tool] as const)));
}
