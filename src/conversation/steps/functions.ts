import type { ToolSpec } from '../../agent/chat.js';
import type { FlowData } from '../../agent/flow/steps.js';

/** The functions with which a model follows the steps of a flow, and what its prompt says of them. */

export const SET_DATA = 'set_data';
export const CONFIRM_DATA = 'confirm_data';
export const NEXT_STEP = 'next_step';

export const DATA_RULES =
  `Call ${SET_DATA} with what the user says, in their words if you are not sure of the form; they are checked. Do not ` +
  'read values back: where that is needed, it is done for you. Do not make values up.';
export const CONFIRM_RULE = `call ${CONFIRM_DATA} with their answer, or ${SET_DATA} if they correct it.`;

export const CONFIRM_SPEC: ToolSpec = {
  name: CONFIRM_DATA,
  description: 'The answer of the user to the value that was read back.',
  parameters: {
    type: 'object',
    properties: { correct: { type: 'boolean', description: 'Whether the user says that it is right.' } },
    required: ['correct'],
    additionalProperties: false,
  },
};

const FORMS: Readonly<Record<FlowData['type'], string>> = {
  text: 'text',
  name: 'a name; with its letters if the user spells it',
  number: 'a number',
  date: 'a date: YYYY-MM-DD, or as the user says it, such as "next friday"',
  time: 'a time of day: HH:MM, or as the user says it',
  email: 'an e-mail address',
  phone: 'a phone number, digits',
  card: 'a card number: you see it as "[card number ending in 1234]"; give exactly this text',
  yes_no: 'true or false',
  choice: 'one of the values',
};

export function fieldLine(data: FlowData): string {
  const { name, type, description, ask, required } = data;
  const what = [description ?? '', FORMS[type], required === false ? 'the user need not say it' : '']
    .filter((part) => part !== '')
    .join('; ');
  const [question] = ask ?? [];
  return `- ${name} (${what})${question === undefined ? '' : ` Ask: ${question}`}`;
}

export function setDataSpec(fields: readonly FlowData[]): ToolSpec {
  const properties = fields.map((data) => [data.name, propertyOf(data)] as const);
  return {
    name: SET_DATA,
    description: 'Takes what the user has said for this step. Give what is known; leave the rest out.',
    parameters: { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false },
  };
}

function propertyOf({ type, description, choices, required }: FlowData): Record<string, unknown> {
  const words = [description ?? '', FORMS[type], required === false ? 'null if the user does not want to say it' : ''];
  const property: Record<string, unknown> = { description: words.filter((part) => part !== '').join('; ') };
  if (type === 'yes_no') property['type'] = 'boolean';
  else if (required !== false) property['type'] = 'string';
  if (type === 'choice' && required !== false) property['enum'] = (choices ?? []).map(({ value }) => value);
  return property;
}

export function nextStepSpec(choices: readonly { to: string; choice: string }[]): ToolSpec {
  const names = [...new Set(choices.map(({ to }) => to))];
  return {
    name: NEXT_STEP,
    description: 'Goes to another step as soon as what it is for applies. Say nothing with it.',
    parameters: {
      type: 'object',
      properties: {
        step: {
          type: 'string',
          enum: names,
          description: choices.map(({ to, choice }) => `${to}: ${choice}`).join('; '),
        },
      },
      required: ['step'],
      additionalProperties: false,
    },
  };
}
