import type { ChangedTable } from '../sql/changes.js';

/** Changes of rows that count as changes of a table, as in CREATE TRIGGER. */
const TRIGGERS: readonly [of: ChangedTable, table: string, events: string][] = [
  ['keys', 'keys', 'INSERT OR UPDATE OR DELETE'],
  ['phones', 'phones', 'INSERT OR UPDATE OR DELETE'],
  ['agents', 'agents', 'INSERT OR UPDATE OR DELETE'],
  ['agents', 'agent_versions', 'INSERT OR UPDATE OR DELETE'],
  ['custom_voices', 'custom_voices', 'INSERT OR UPDATE OR DELETE'],
  ['calls_stopped', 'calls_stopped', 'INSERT OR UPDATE OR DELETE'],
  // Not `last_call_ms`, which each of its calls changes.
  [
    'campaigns',
    'campaigns',
    'INSERT OR UPDATE OF name, status, caller, include_metadata_in_prompt, overrides, reason OR DELETE',
  ],
];

/**
 * A version per table, raised by each transaction that changes its rows, and a notification. The triggers are deferred:
 * they run in the commit, so transactions on one table wait for each other no longer than a commit takes.
 */
export const CHANGES = `
  CREATE TABLE changes (
    name TEXT COLLATE "C" PRIMARY KEY,
    version BIGINT NOT NULL
  );
  CREATE FUNCTION parley_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    -- Once in a transaction, however many rows it changes.
    IF current_setting('parley.changed_' || TG_ARGV[0], true) = 'yes' THEN RETURN NULL; END IF;
    PERFORM set_config('parley.changed_' || TG_ARGV[0], 'yes', true);
    INSERT INTO changes VALUES (TG_ARGV[0], 1)
      ON CONFLICT (name) DO UPDATE SET version = changes.version + 1;
    PERFORM pg_notify('parley_changes', TG_ARGV[0]);
    RETURN NULL;
  END $$;
${TRIGGERS.map(
  ([of, table, events]) => `
  CREATE CONSTRAINT TRIGGER ${table}_changed AFTER ${events} ON ${table}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION parley_changed('${of}');`,
).join('')}`;
