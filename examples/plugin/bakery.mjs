/**
 * A plug-in for `parley serve --plugin examples/plugin/bakery.mjs`, in plain JavaScript without any import: functions that
 * agents name in `extensions.functions`, and a language model that they name in `llm.model`.
 */
const orders = new Map([['A1', { state: 'baking', minutes: 12 }]]);

export default {
  name: 'bakery',
  functions: [
    {
      name: 'look_up_order',
      description: 'Says how far an order is.',
      parameters: {
        type: 'object',
        properties: {
          number: { type: 'string', pattern: '^[A-Z]\\d+$', description: 'Number of the order, such as A1' },
        },
        required: ['number'],
      },
      execute: ({ number }) => orders.get(number) ?? `There is no order ${number}.`,
    },
  ],
  llm: {
    'bakery-clerk': () => ({
      name: 'clerk',
      virtualTime: true,
      warmUp: async () => {},
      close: async () => {},
      async *complete({ messages }) {
        const last = messages.at(-1);
        if (last?.role === 'tool') yield { type: 'text', text: `I looked it up: ${last.content}` };
        else if (/order/i.test(last?.content ?? '')) {
          yield { type: 'toolCall', call: { id: 'a', name: 'look_up_order', arguments: '{"number":"A1"}' } };
        } else yield { type: 'text', text: 'This is the bakery. Ask me about your order.' };
      },
    }),
  },
  redact: (text) => text.replace(/\b\d{4} \d{4} \d{4} \d{4}\b/g, '[card]'),
};
