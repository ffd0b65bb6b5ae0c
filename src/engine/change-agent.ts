import type { AgentConfig } from '../agent/agent.js';
import { buildSystemPrompt } from '../agent/prompt.js';
import { DEFAULT_CONVERSATION } from '../agent/flow/conversation-config.js';
import { refusal } from '../session/open-commands.js';
import type { AgentChanges, ChangeAgent, ChangedAgent } from '../session/session-options.js';
import type { AgentSetup } from './agent-setup.js';
import type { SessionRequest } from './options.js';
import { type PreparedAgent, setUpOrThrow, withNotes } from './prepare-agent.js';
import { voiceChoice } from './providers.js';
import type { EngineServices } from './services.js';

export interface ChangeAgentOptions {
  /** What the session began with. */
  request: SessionRequest;
  prepared: PreparedAgent;
  startUnixMs: number;
  onFault: (name: string, reason: string) => void;
}

/** Added to the time limit of the slowest tool. */
const TOOL_GRACE_MS = 5_000;

/** The core's longest wait for a tool: as late as the tool's own limit says. */
export function toolMsOf({ longestMs }: Pick<AgentSetup['toolbox'], 'longestMs'>): number {
  return Math.max(DEFAULT_CONVERSATION.deadlines.toolMs, longestMs + TOOL_GRACE_MS);
}

/**
 * Sets the agent of a session up with other settings. Its voice and its model are warm when it resolves. A server or a
 * speech-to-speech model that answers in place of the agent's model cannot be changed.
 */
export function changeAgent(services: EngineServices, options: ChangeAgentOptions): ChangeAgent {
  const { prepared, startUnixMs, onFault } = options;
  let { request } = options;
  return async (changes, signal) => {
    refuseFixed(prepared, changes);
    const next = changed(request, changes, prepared.agent.metadata);
    const setup = await setUpOrThrow(services, next, 'line', { onFault, extraPrompt: prepared.extraPrompt });
    await setup.speech?.realtime?.session.close(); // the session has one
    if (setup.refusal !== null) throw setup.refusal;
    const isRealtime = prepared.speech?.realtime != null;
    if (!isRealtime && setup.speech?.realtime != null) {
      throw refusal('update', 'unsupported', 'a speech-to-speech model needs a session of its own');
    }
    const agent = withNotes(setup.agent, prepared.notes);
    const voice = changes.voice === undefined && changes.pronunciation === undefined ? null : voiceOf(setup);
    if (voice !== null) await voice.tts.warmUp(voiceChoice(agent));
    signal.throwIfAborted();
    if (changes.llm !== undefined) services.warmModels.open(setup.llm, agent.llm.model);
    request = next;
    return {
      settings: {
        systemPrompt: buildSystemPrompt(agent, startUnixMs),
        toolSpeech: Object.fromEntries(setup.toolbox.speech),
        toolMs: toolMsOf(setup.toolbox),
      },
      toolbox: setup.toolbox,
      metadata: agent.metadata,
      model: changes.llm === undefined ? null : modelOf(services, setup),
      voice,
    };
  };
}

/** @throws ParleyError COMMAND_REFUSED */
function refuseFixed({ customLlm, speech }: PreparedAgent, { prompt, tools, llm, voice }: AgentChanges): void {
  if (customLlm !== null && [prompt, tools, llm].some((change) => change !== undefined)) {
    throw refusal('update', 'unsupported', "the agent's own server answers in place of its model");
  }
  if (speech?.realtime != null && [llm, voice].some((change) => change !== undefined)) {
    throw refusal('update', 'unsupported', 'a speech-to-speech model keeps its voice');
  }
}

function changed(
  request: SessionRequest,
  { prompt, tools, voice, llm, metadata, pronunciation }: AgentChanges,
  known: Readonly<Record<string, unknown>>,
): SessionRequest {
  const { agent } = request;
  const config: AgentConfig = { ...agent };
  if (prompt !== undefined) config.prompt = prompt;
  if (llm !== undefined) config.llm = llm === null ? null : { ...agent.llm, ...llm };
  if (voice !== undefined) config.voice = voice;
  const extensions = pronunciation === undefined ? request.extensions : { ...request.extensions, pronunciation };
  const next = { ...request, extensions, agent: config, metadata: { ...known, ...request.metadata, ...metadata } };
  if (tools == null) return next;
  config.tools = tools.flatMap((tool) => ('execute' in tool ? [] : [tool]));
  return { ...next, tools: tools.flatMap((tool) => ('execute' in tool ? [tool] : [])) };
}

function voiceOf({ agent, speech }: AgentSetup): ChangedAgent['voice'] {
  if (speech === null) return null;
  const { voiceId, model, settings, pronunciation } = agent.voice;
  return { tts: speech.tts, voiceId, model, settings, pronunciation };
}

function modelOf({ hedges }: EngineServices, { agent, llm }: AgentSetup): NonNullable<ChangedAgent['model']> {
  const { model, temperature } = agent.llm;
  return { llm: hedges.of(llm, model), model, temperature };
}
