import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentConfigSchema, type AgentConfig } from '../../src/agent/agent.js';
import { type AgentExtensions, agentExtensionsSchema } from '../../src/agent/extensions/extensions.js';
import { agentConfigReference, agentExtensionsReference } from '../../src/settings/reference.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import type { ConversationConfig } from '../../src/agent/flow/conversation-config.js';
import { packageFile } from '../../src/package-files.js';
import { conversationConfig } from '../../src/engine/session-factory.js';

const FIELDS = [...agentConfigReference(), ...agentExtensionsReference()]
  .map(({ path }) => path)
  .filter((path) => /^(flow|session_timeout|extensions\.transfer)\./.test(path));

type Agent = AgentConfig & { extensions: AgentExtensions };

/** Every field of `flow`, `session_timeout` and `extensions.transfer`, with a value that is not its default. */
const EVERYTHING = {
  flow: {
    user_start_first: true,
    interruption: { allowed: false, keep_interruption_message: false, first_messsage: false },
    response_delay: { generic_delay: 300, number_input_delay: 700 },
    auto_fill_responses: { response_gap_threshold: 900, messages: ['Hm.'] },
    agent_terminate_call: { enabled: true, instruction: 'When all is said.', messages: ['So long.'] },
    voicemail: {
      action: 'message',
      message: 'Please call us back.',
      continue_on_voice_activity: true,
      detection_phrases: ['the shop is closed'],
    },
    call_transfer: {
      phone: '+4930123456',
      phones: [{ phone: '+4930123457', description: 'sales' }],
      instruction: 'When asked to.',
      messages: ['One moment.'],
    },
    inactivity_handling: { idle_time: 7, message: 'Hello?' },
    dtmf_dial: { enabled: true, instruction: 'In menus.' },
  },
  session_timeout: { max_duration: 600, max_idle: 30, message: 'Time is up.' },
  extensions: {
    transfer: {
      attended: {
        enabled: true,
        briefing: 'A call for you. {summary}',
        confirm: false,
        ring_timeout: 12,
        hold_sound: 'ringing',
        hold_messages: ['Still ringing.'],
      },
    },
  },
} satisfies Agent;

function heldAs({ extensions, ...config }: Agent): ConversationConfig {
  return conversationConfig(resolveAgent(config, { extensions }), new Map(), 0, 'outbound');
}

/** The same without one field; an entry of a list goes as a whole where one of its fields does. */
function without(path: string): Agent {
  const copy = structuredClone<Agent>(EVERYTHING);
  const names = path.split('.').map((name) => name.replace('[]', ''));
  const last = names.pop() ?? '';
  let at = copy as unknown as Record<string, unknown>;
  for (const name of names) {
    const inner = at[name];
    at = (Array.isArray(inner) ? (inner as unknown[])[0] : inner) as Record<string, unknown>;
  }
  expect(at, path).toHaveProperty(last);
  if (last === 'phone' && path.includes('[]')) at[last] = '';
  else at[last] = null;
  return copy;
}

describe('every field of flow, session_timeout and extensions.transfer', () => {
  const folder = fileURLToPath(packageFile('docs/flow'));
  const pages: { name: string; text: string }[] = [];

  beforeAll(async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.md'));
    for (const name of names) pages.push({ name, text: await readFile(join(folder, name), 'utf8') });
  });

  it('has a value here that the schema takes', () => {
    const { extensions, ...config } = EVERYTHING;
    expect(agentConfigSchema.parse(config)).toEqual(config);
    expect(agentExtensionsSchema.parse(extensions)).toEqual(extensions);
    expect(FIELDS.length).toBeGreaterThan(30);
  });

  it.each(FIELDS)('%s changes how a conversation is held', (path) => {
    expect(heldAs(without(path))).not.toEqual(heldAs(EVERYTHING));
  });

  it.each(FIELDS)('%s is named on a page of docs/flow', (path) => {
    const names = path.replaceAll('[]', '').split('.');
    // The page has to be about the whole that the field is a part of: `flow.voicemail`, then `action`.
    const whole = names.length > 2 ? names.slice(0, 2).join('.') : names[0] === 'flow' ? path : 'session_timeout';
    const field = names.at(-1) ?? '';
    const isNamed = (text: string): boolean => whole === path || text.includes(`\`${field}\``);
    const named = pages.filter(({ text }) => text.includes(`\`${whole}`) && isNamed(text));
    expect(named.map(({ name }) => name).length, `${whole}, ${field}`).toBeGreaterThan(0);
  });

  it('and every page is in the index, and leads to files and tests that exist', async () => {
    const index = pages.find(({ name }) => name === 'README.md')?.text ?? '';
    for (const { name, text } of pages) {
      if (name !== 'README.md') expect(index, name).toContain(`(${name})`);
      for (const [, link = ''] of text.matchAll(/\]\(((?!https?:)[^)#]+)/g)) {
        await expect(access(join(folder, link)), `${name}: ${link}`).resolves.toBeUndefined();
      }
    }
  });
});
