import type { AgentScriptInput } from './schema.js';

/**
 * What the agent says while its language model is unavailable: that something is wrong and that the call continues.
 * Every turn tries the model first, so the next sentence may be the model's again.
 */
export const fallbackScript: AgentScriptInput = {
  greeting:
    'Hello. I am sorry, I have a technical problem just now. Please give me a moment, then tell me what you need.',
  start: 'sorry',
  states: {
    sorry: {
      otherwise: {
        say: [
          'I am sorry, I have a technical problem and cannot answer that right now. Could you say it once more in a moment?',
          'I am still having trouble on my side, I am sorry. Please stay on the line and try once more.',
          'It is still not working, and I do not want to tell you anything wrong. You can try again, or call back a little later.',
        ],
      },
    },
  },
  rules: [
    {
      when: ['are you [still] there', '^hello', 'can you hear me'],
      say: ['Yes, I am here, and I can hear you. I only have trouble finding an answer.', 'I am still here.'],
    },
  ],
  phrases: {
    notUnderstood: 'I am sorry, I have a technical problem just now.',
    inaudible: ['Sorry, I could not hear that.', 'I am sorry, I could not hear that either.'],
    help: 'I have a technical problem just now. Please try again in a moment.',
    thanks: 'Thank you for your patience.',
    wait: 'Of course, take your time.',
    goodbye: 'Goodbye, and I am sorry for the trouble.',
  },
};

/** What an agent without a language model and script says: what is missing, and that it can be added. */
export const noModelScript: AgentScriptInput = {
  greeting:
    'Hello. I have no language model and no script yet, so I can hear you, but I cannot answer. ' +
    'The person who set me up can add either one.',
  start: 'unable',
  states: {
    unable: {
      otherwise: {
        say: [
          'I cannot answer that, because I have no language model and no script yet.',
          'I heard you, but I have no language model to think with. The person who set me up can add one.',
        ],
      },
    },
  },
  phrases: {
    notUnderstood: 'I have no language model and no script yet, so I cannot answer.',
    inaudible: ['Sorry, I could not hear that.', 'I am sorry, I could not hear that either.'],
    help: 'I have no language model and no script yet, so I cannot help.',
    thanks: 'You are welcome.',
    wait: 'Of course, take your time.',
    goodbye: 'Goodbye.',
  },
};
