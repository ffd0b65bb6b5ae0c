/** A function in code: the model calls it, and it runs in this process. */
import { defineTool } from '@parley-voice/parley';
import * as z from 'zod';

/** Your data. */
const orders = new Map([['A1', { state: 'baking', minutes: 12 }]]);

export const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Says how far an order is.',
  parameters: z.object({
    number: z
      .string()
      .regex(/^[A-Z]\d+$/)
      .describe('Number of the order, such as A1'),
  }),
  execute: ({ number }) => orders.get(number) ?? `There is no order ${number}.`,
});

export const bake = defineTool({
  name: 'bake',
  description: 'Bakes a cake. It takes a while; the conversation goes on.',
  parameters: z.object({ cake: z.enum(['apple pie', 'cheesecake']), guests: z.int().min(1).default(4) }),
  background: true,
  async *execute({ cake, guests }, { wait }) {
    yield `The ${cake} is in the oven.`;
    await wait(8_000);
    return { cake, slices: guests * 2 };
  },
});
