/**
 * How far a data folder has been copied into the database: a row per table, from the beginning. A database with rows that
 * are not `verified` is not complete.
 */
export const MIGRATION = `
  CREATE TABLE migration (
    name TEXT COLLATE "C" PRIMARY KEY,
    source TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('copying', 'copied', 'verified')),
    copied BIGINT NOT NULL,
    last_key TEXT
  );`;
