/** An agent of the application, with a function in its code. The script stands for a language model. */
import { defineTool } from '@parley-voice/parley';
import type { HostedAgent } from '@parley-voice/parley/daemon';
import * as z from 'zod';

/** Your data. */
const orders = new Map([['A1', 'in the oven']]);

export const lookUpOrder = defineTool({
  name: 'look_up_order',
  description: 'Says how far an order is.',
  parameters: z.object({ number: z.string().describe('Number of the order, such as A1') }),
  execute: ({ number }) => orders.get(number) ?? 'unknown',
});

export const baker: HostedAgent = {
  id: 'baker',
  name: 'Baker',
  config: { prompt: 'You sell bread.', first_message: 'Hello, this is the bakery.', llm: { model: 'scripted' } },
  extensions: { functions: ['look_up_order'] },
  script: {
    rules: [
      {
        when: 'order',
        call: {
          tool: 'look_up_order',
          arguments: { number: 'A1' },
          ok: { say: 'Your order is {result}.' },
          failed: { say: 'I cannot find your order.' },
        },
      },
    ],
  },
};
