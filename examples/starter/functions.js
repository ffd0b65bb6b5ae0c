/** Functions in code, for agents that name them in `extensions.functions`. settings.jsonc loads this file. */
import { definePlugin, defineTool } from '@parley-voice/parley';

/** Your data; in practice a database or an API of yours. */
const orders = new Map([
  [12, { state: 'in the oven', minutes: 20 }],
  [15, { state: 'cooling down', minutes: 5 }],
]);

const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Says how far an order is.',
  // JSON Schema. With `npm install zod`, z.object({ number: z.int() }) also gives `execute` the types.
  parameters: {
    type: 'object',
    properties: { number: { type: 'integer', description: 'The number of the order, such as 12' } },
    required: ['number'],
  },
  execute({ number }) {
    const order = orders.get(Number(number));
    if (order === undefined) throw new Error(`There is no order ${String(number)}.`);
    return order;
  },
});

export default definePlugin({ name: 'bakery', functions: [lookUpOrder] });
