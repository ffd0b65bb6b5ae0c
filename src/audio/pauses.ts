/** Silence left after a spoken sentence and after a clause, in milliseconds: between utterances and inside one alike. */
export const SENTENCE_PAUSE_MS = 180;
export const CLAUSE_PAUSE_MS = 60;
