import type { AgentScriptInput } from './schema.js';

/** What an agent says that has neither a language model nor a script: what it lacks, and that somebody can add it. */
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
