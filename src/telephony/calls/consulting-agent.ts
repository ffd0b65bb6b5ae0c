import { setOr } from '../../schema/field.js';
import type { AgentConfig } from '../../agent/agent.js';
import type { ChatMessage } from '../../agent/chat.js';
import { DEFAULT_LANGUAGE } from '../../agent/language.js';
import { phrasesFor } from '../../conversation/language/phrases.js';
import type { Consultation } from '../../session/line/line-actions.js';
import type { CallAgent } from './call-agent.js';

/** The waiting user, as the consulting agent's transfer target. */
export const CALLER = 'caller';

/** Maximum length of the conversation that the consulting agent gets, in characters. */
const MAX_CONVERSATION_CHARS = 12_000;
/** Limit for a target who neither agrees nor refuses, because the user waits. */
const LONGEST_S = 100;
const LONGEST_SILENCE_S = 20;
const ASKED_AGAIN_S = 6;

/**
 * The agent that asks a target whether they take a call: it has the voice, recogniser and model of the user's agent and
 * knows the conversation, but has none of its tools, files, memories and webhooks.
 */
export function briefed(agent: CallAgent, consultation: Consultation): CallAgent {
  const { vad, stt, llm, tts, agentId } = agent;
  const config = agent.agent;
  const language = setOr(config.language, DEFAULT_LANGUAGE);
  const said = firstWords(consultation, language);
  const { mayConnect } = phrasesFor(language);
  return {
    vad,
    stt,
    llm,
    tts,
    agentId,
    agent: {
      ...heardAndSpoken(config),
      prompt: promptOf(consultation, said),
      first_message: said,
      flow: {
        agent_terminate_call: {
          enabled: true,
          instruction: 'Use it when they do not take the call, are not the right person, or have hung up.',
        },
        call_transfer: {
          phone: CALLER,
          instruction: consultation.confirm
            ? 'Use it as soon as they agree to take the call.'
            : 'Use it at their first words, unless they refuse the call.',
        },
        voicemail: { action: 'hangup' },
        inactivity_handling: { idle_time: ASKED_AGAIN_S, message: mayConnect },
      },
      session_timeout: { max_duration: LONGEST_S, max_idle: LONGEST_SILENCE_S },
    },
    script: scriptOf(consultation.confirm, mayConnect),
  };
}

function firstWords({ briefing, summary, confirm }: Consultation, language: string): string {
  const phrases = phrasesFor(language);
  const text = (briefing ?? phrases.briefing).replaceAll('{summary}', () => summary ?? '');
  const whole = confirm ? `${text} ${phrases.mayConnect}` : text;
  return whole.replaceAll(/\s+/g, ' ').trim();
}

/** The settings for the same voice, recogniser and model. */
function heardAndSpoken(config: AgentConfig): AgentConfig {
  const { voice, llm, language, speech_to_text, vad_threshold, custom_vocabulary, privacy_settings, timezone } = config;
  return { voice, llm, language, speech_to_text, vad_threshold, custom_vocabulary, privacy_settings, timezone };
}

function promptOf({ confirm, messages }: Consultation, said: string): string {
  const asks = confirm
    ? 'When they agree to take the call, or press 1, use transfer_call at once.'
    : 'They need not agree: use transfer_call at their first words, unless they refuse.';
  return `You have been speaking with somebody on the phone, who is called the caller here. The caller now waits and \
hears nothing of what you say. You have called somebody else to ask whether they take the call.
You begin with: "${said}"
Be brief, since the caller is waiting. Answer questions about the caller from the conversation below, and say so where \
it does not tell.
${asks}
When they cannot or do not want to take the call, or press 2, do not talk them into it: thank them and use end_call. What \
they want passed on, the caller will be told.

The conversation with the caller:
${transcriptOf(messages)}`;
}

function transcriptOf(messages: readonly ChatMessage[]): string {
  const lines = messages.flatMap((message) => {
    const { role, content } = message;
    if (content === '' || (role !== 'user' && role !== 'assistant')) return [];
    return [`${role === 'user' ? (message.name ?? 'Caller') : 'You'}: ${content}`];
  });
  return lines.join('\n').slice(-MAX_CONVERSATION_CHARS);
}

/** For the embedded model, also as a fallback: it recognises yes and no. */
function scriptOf(confirm: boolean, question: string): object {
  const gone = { say: 'I am sorry, the caller has gone. Goodbye.', end: true };
  const connect = { call: { tool: 'transfer_call', arguments: { phone: CALLER }, ok: { end: true }, failed: gone } };
  const rules = [
    { when: NO, say: 'Thank you. I will tell them. Goodbye.', end: true },
    ...(confirm ? [{ when: YES, ...connect }] : []),
  ];
  return {
    start: 'asked',
    states: { asked: { rules, otherwise: confirm ? { say: question } : connect } },
  };
}

const YES = [
  '^yes',
  '^yeah',
  '^yep',
  '^sure',
  '^okay',
  '^ok',
  '^alright',
  '^fine',
  '^of course',
  '^absolutely',
  '^certainly',
  '^go ahead',
  '^please do',
  'put (them|him|her|it) through',
  'put the caller through',
  'connect (me|them|us)',
  '(i will|can) take (it|the call|them)',
  'i am (free|available|ready)',
  '^1$',
  '^one$',
];

const NO = [
  '^no',
  '^nope',
  'not (now|today|available|here|at the moment|possible)',
  'no thank you',
  '(cannot|can not|do not want to|will not) (take|talk|speak)',
  'i am (busy|in a meeting|out|driving)',
  'call (me|back) later',
  'later',
  'wrong number',
  'take a message',
  '^2$',
  '^two$',
];
