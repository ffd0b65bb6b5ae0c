import type { Flow, FlowGlobalStep } from '../../../agent/flow/steps.js';

export interface FlowTemplate {
  name: string;
  about: string;
  flow: Flow;
}

const STOP: FlowGlobalStep = {
  id: 'stop',
  title: 'Stop',
  choice: 'The caller wants to end the call.',
  phrases: ['goodbye', 'bye', 'never mind', 'stop'],
  say: { entry: 'All right. Goodbye!' },
  end: { action: 'hang_up' },
};

const AGAIN: FlowGlobalStep = {
  id: 'again',
  title: 'Repeat',
  choice: 'The caller asks you to repeat what you said.',
  phrases: ['(say|repeat) that [again]', 'pardon', '^[sorry] what$'],
  end: { action: 'repeat' },
};

/** What new flows begin with. */
export const TEMPLATES: readonly FlowTemplate[] = [
  {
    name: 'Booking',
    about: 'Day, time, number of people, name and phone; the caller hears it all again and says whether it is right.',
    flow: {
      steps: [
        {
          id: 'details',
          title: 'Details of the booking',
          say: { entry: 'Hello! I can book a table for you.' },
          instruction: 'Ask for what is missing, one thing at a time.',
          collect: [
            { name: 'day', type: 'date', period: 'future', ask: ['For which day?'] },
            { name: 'time', type: 'time', ask: ['At what time?'] },
            { name: 'people', type: 'number', min: 1, max: 20, ask: ['For how many people?'] },
          ],
          transitions: [{ to: 'large', when: [{ data: 'people', at_least: 9 }] }, { to: 'contact' }],
        },
        {
          id: 'contact',
          title: 'Who books',
          collect: [
            { name: 'name', type: 'name', ask: ['What is your name, please?'] },
            { name: 'phone', type: 'phone', ask: ['Which phone number can we call?'] },
          ],
          transitions: [{ to: 'check' }],
        },
        {
          id: 'check',
          title: 'Read it back',
          instruction: 'The caller hears the booking and says whether it is right.',
          collect: [
            {
              name: 'right',
              type: 'yes_no',
              ask: ['{people} people, {day} at {time}, for {name}. Is that right?'],
            },
          ],
          transitions: [{ to: 'booked', when: [{ data: 'right', is: true }] }, { to: 'large' }],
        },
        {
          id: 'booked',
          title: 'Booked',
          say: { entry: 'Thank you, {name}. We look forward to seeing you. Goodbye!' },
          end: { action: 'hang_up' },
        },
        {
          id: 'large',
          title: 'To be called back',
          say: { entry: 'A colleague will call you back about this. Goodbye!' },
          end: { action: 'hang_up' },
        },
      ],
      global: [AGAIN, STOP],
    },
  },
  {
    name: 'Survey',
    about: 'Whether the caller takes part, a mark, a reason for a low one, and thanks.',
    flow: {
      steps: [
        {
          id: 'consent',
          title: 'Take part?',
          say: { entry: 'Hello! We have one or two questions about your last visit.' },
          collect: [{ name: 'takes_part', type: 'yes_no', ask: ['Do you have a minute?'] }],
          transitions: [{ to: 'mark', when: [{ data: 'takes_part', is: true }] }, { to: 'no_time' }],
        },
        {
          id: 'mark',
          title: 'The mark',
          collect: [
            {
              name: 'mark',
              type: 'number',
              min: 0,
              max: 10,
              ask: ['From zero to ten, how likely is it that you recommend us?'],
            },
          ],
          transitions: [{ to: 'reason', when: [{ data: 'mark', at_most: 6 }] }, { to: 'thanks' }],
        },
        {
          id: 'reason',
          title: 'The reason',
          collect: [{ name: 'reason', type: 'text', ask: ['I am sorry. What went wrong?'] }],
          transitions: [{ to: 'thanks' }],
        },
        {
          id: 'thanks',
          title: 'Thanks',
          say: { entry: 'Thank you very much for your time. Goodbye!' },
          end: { action: 'hang_up' },
        },
        {
          id: 'no_time',
          title: 'No time',
          say: { entry: 'No problem. Have a nice day. Goodbye!' },
          end: { action: 'hang_up' },
        },
      ],
      global: [AGAIN, STOP],
    },
  },
  {
    name: 'Routing',
    about: 'Finds out what the caller needs and connects them; if nobody answers, it takes a message.',
    flow: {
      steps: [
        {
          id: 'need',
          title: 'What is it about?',
          say: { entry: 'Hello! Is it about an order, or about a bill?' },
          instruction: 'Find out what the caller needs.',
          transitions: [
            { to: 'orders', when: [{ choice: 'The caller asks about an order.', phrases: ['order', 'delivery'] }] },
            {
              to: 'bills',
              when: [{ choice: 'The caller asks about a bill.', phrases: ['bill', 'invoice', 'payment'] }],
            },
          ],
        },
        {
          id: 'orders',
          title: 'Orders',
          say: { entry: 'I connect you with our orders.' },
          end: { action: 'transfer', phone: '+12025550101' },
          transitions: [{ to: 'message', when: [{ tool: 'transfer_call', ok: false }] }],
        },
        {
          id: 'bills',
          title: 'Bills',
          say: { entry: 'I connect you with our accounts.' },
          end: { action: 'transfer', phone: '+12025550102' },
          transitions: [{ to: 'message', when: [{ tool: 'transfer_call', ok: false }] }],
        },
        {
          id: 'message',
          title: 'Take a message',
          say: { entry: 'Nobody answers right now.' },
          collect: [
            { name: 'message', type: 'text', ask: ['What may I tell them?'] },
            { name: 'phone', type: 'phone', ask: ['And which number can they call?'] },
          ],
          transitions: [{ to: 'done' }],
        },
        {
          id: 'done',
          title: 'Message taken',
          say: { entry: 'I will pass that on. Goodbye!' },
          end: { action: 'hang_up' },
        },
      ],
      global: [AGAIN, STOP],
    },
  },
];
