import * as z from 'zod';
import { agentConfigSchema } from '../../agent/agent.js';
import type { SessionCommand, SteeredSession } from '../../session/steered-session.js';

const WHEN = { next: 'next', after_sentence: 'afterSentence', now: 'now' } as const;
const when = z
  .enum(['next', 'after_sentence', 'now'])
  .default('next')
  .describe(
    'When the agent speaks: after all that it is about to say, after the sentence that it is saying (the rest is ' +
      'dropped), or in place of what it is saying. While the user speaks, it waits for the end of their turn.',
  );
const text = z.string().min(1).max(4_000);
const { prompt, tools, voice, llm } = agentConfigSchema.shape;
const MAX_HOLD_S = 4 * 3600;

/** What `POST /sessions/{session_id}/control` and the control socket take. */
export const commandSchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('say'),
        text: text.describe('Spoken word for word.'),
        when,
        interruptible: z.boolean().default(true).describe('False: neither the user nor a command can cut it off.'),
      })
      .meta({ id: 'SayCommand' }),
    z
      .strictObject({
        type: z.literal('generate'),
        instructions: text.describe('What the model is to say. The user does not hear it.'),
        when,
        tools: z.array(z.string().min(1).max(200)).max(128).optional().describe('Tools it may call. Default: all.'),
      })
      .meta({ id: 'GenerateCommand' }),
    z.strictObject({ type: z.literal('interrupt') }).meta({ id: 'InterruptCommand' }),
    z
      .strictObject({
        type: z.literal('add_message'),
        role: z.enum(['system', 'user', 'assistant']).describe('`system`: a note for the model alone.'),
        content: z.string().min(1).max(20_000),
      })
      .meta({ id: 'AddMessageCommand', description: 'Adds a message to the history. It gets no answer.' }),
    z
      .strictObject({
        type: z.literal('update_agent'),
        prompt,
        tools: tools.describe('In place of all tools so far.'),
        voice,
        llm,
        metadata: z.record(z.string(), z.unknown()).nullish().describe('Joins the metadata; variables get new values.'),
      })
      .meta({ id: 'UpdateAgentCommand', description: 'Changes the agent of this session from its next reply on.' }),
    z
      .strictObject({ type: z.literal('mute'), side: z.enum(['user', 'agent']), on: z.boolean().default(true) })
      .meta({ id: 'MuteCommand', description: 'Mutes a side, or unmutes it with `on: false`.' }),
    z
      .strictObject({
        type: z.literal('hold'),
        music: z.boolean().default(true),
        max_s: z.number().min(1).max(MAX_HOLD_S).default(900).describe('After this time the user is taken off hold.'),
      })
      .meta({ id: 'HoldCommand' }),
    z.strictObject({ type: z.literal('unhold') }).meta({ id: 'UnholdCommand' }),
    z
      .strictObject({
        type: z.literal('transfer'),
        target: z.string().min(1).max(300).describe('A number, a SIP address, or a target that the agent names.'),
        attended: z.boolean().optional().describe('Whether the target is asked first. Default: as the agent is set.'),
        summary: z.string().max(2_000).optional().describe('What the target of an attended transfer hears first.'),
      })
      .meta({ id: 'TransferCommand', description: 'Connects the user to somebody else, which ends the session.' }),
    z
      .strictObject({
        type: z.literal('hand_over'),
        agent_id: z.string().min(1).max(200).describe('The agent that goes on with the conversation.'),
        context: z
          .enum(['all', 'last', 'summary', 'variables', 'none'])
          .default('all')
          .describe('What it learns of the conversation, as in `extensions.handover`.'),
        messages: z.int().min(1).max(200).default(6).describe('How many messages `last` has.'),
        variables: z.array(z.string().min(1).max(64)).max(50).optional().describe('Names of metadata it is told of.'),
        announcement: z.string().min(1).max(4_000).optional().describe('Said word for word first. Default: nothing.'),
        reason: z.string().min(1).max(2_000).optional().describe('What the agent is told. The user does not hear it.'),
        return: z.boolean().default(true).describe('Whether it may hand the conversation back.'),
      })
      .meta({
        id: 'HandOverCommand',
        description: 'Another agent goes on with the conversation, from the next reply on.',
      }),
    z
      .strictObject({ type: z.literal('press_keys'), digits: z.string().min(1).max(64).describe('`w` waits 0.5 s.') })
      .meta({ id: 'PressKeysCommand' }),
    z
      .strictObject({ type: z.literal('record'), on: z.boolean() })
      .meta({ id: 'RecordCommand', description: 'Pauses the recording, or continues it. A pause is silence in it.' }),
    z
      .strictObject({ type: z.literal('end'), message: z.string().max(4_000).optional().describe('Last words.') })
      .meta({ id: 'EndCommand' }),
  ])
  .meta({ id: 'SessionCommand', description: 'A command to a running session.' });

export type RequestedCommand = z.output<typeof commandSchema>;
export type CommandResultBody = z.output<typeof commandResultSchema>;

/** What came of a command; null = it has no result. */
export const commandResultSchema = z
  .union([
    z.strictObject({ text: z.string(), heard: z.string(), complete: z.boolean() }).meta({
      id: 'SpokenResult',
      description: 'Of `say` and `generate`: all words, those that the user heard, and whether these are all.',
    }),
    z
      .strictObject({ stopped: z.boolean() })
      .meta({ id: 'StoppedResult', description: 'Of `interrupt`: whether the agent had something to say.' }),
  ])
  .nullable();

/** Resolves when the command is carried out. @throws ParleyError COMMAND_REFUSED, SESSION_CLOSED */
export async function carryOut(
  session: Pick<SteeredSession, 'control'>,
  command: Exclude<RequestedCommand, { type: 'end' }>,
): Promise<CommandResultBody> {
  const result = await session.control(commandOf(command));
  if (result === null || 'stopped' in result) return result;
  return { text: result.text, heard: result.heard, complete: result.text !== '' && result.heard === result.text };
}

function commandOf(command: Exclude<RequestedCommand, { type: 'end' }>): SessionCommand {
  switch (command.type) {
    case 'say': {
      const { text: words, interruptible } = command;
      return { type: 'command.say', text: words, when: WHEN[command.when], interruptible };
    }
    case 'generate': {
      const order = { type: 'command.generate', instructions: command.instructions, when: WHEN[command.when] } as const;
      return command.tools === undefined ? order : { ...order, tools: command.tools };
    }
    case 'add_message':
      return { type: 'command.add', role: command.role, content: command.content };
    case 'update_agent': {
      const { metadata, ...changed } = command;
      return {
        type: 'command.update',
        changes: {
          prompt: changed.prompt ?? undefined,
          tools: changed.tools ?? undefined,
          voice: changed.voice ?? undefined,
          llm: changed.llm ?? undefined,
          metadata: metadata ?? undefined,
        },
      };
    }
    case 'mute':
      return { type: 'command.mute', side: command.side, on: command.on };
    case 'hold':
      return { type: 'command.hold', music: command.music, maxMs: command.max_s * 1000 };
    case 'transfer': {
      const order: SessionCommand = { type: 'command.transfer', target: command.target };
      if (command.attended !== undefined) order.attended = command.attended;
      if (command.summary !== undefined) order.summary = command.summary;
      return order;
    }
    case 'hand_over':
      return {
        type: 'command.handover',
        agent: command.agent_id,
        order: {
          plan: command.context,
          messages: command.messages,
          variables: command.variables ?? [],
          announcement: command.announcement ?? null,
          reason: command.reason ?? null,
          mayReturn: command.return,
        },
      };
    case 'press_keys':
      return { type: 'command.press', digits: command.digits };
    case 'record':
      return { type: 'command.record', on: command.on };
    case 'interrupt':
      return { type: 'command.interrupt' };
    case 'unhold':
      return { type: 'command.unhold' };
  }
}
