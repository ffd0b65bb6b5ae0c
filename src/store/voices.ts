import type { LiveTable, LiveTables, TableView } from './sql/live-table.js';
import { sql, type SqlDatabase } from './sql/statement.js';

/** A custom voice: a provider's voice with its own name, model and settings. */
export interface StoredVoice {
  provider: string;
  /** The id that agents use. */
  voiceId: string;
  /** The id of the provider's voice. */
  baseVoiceId: string;
  name: string;
  /** Null = the provider's. */
  model: string | null;
  settings: Readonly<Record<string, unknown>>;
  /** A code of the API's language list; null = the language of the provider's voice. */
  language: string | null;
  category: string | null;
  /** Factor on the provider's price. */
  multiplier: number;
  /** Unix seconds. */
  createdAt: number;
}

interface Row {
  provider: string;
  voice_id: string;
  base_voice_id: string;
  name: string;
  model: string | null;
  settings: string;
  language: string | null;
  category: string | null;
  multiplier: number;
  created_at: number;
}

export const VOICE_VIEW: TableView<Row, StoredVoice> = {
  table: 'custom_voices',
  from: 'custom_voices',
  columns:
    'provider, voice_id, base_voice_id, name, model, settings, language, category, multiplier, created_at, rowid',
  where: 'TRUE',
  order: 'created_at, rowid',
  key: ['provider', 'voice_id'],
  stamp: null,
  isCostly: false,
  decode: stored,
};

/** Custom voices in a thread or process without a database. */
export class VoiceList {
  readonly #voices: readonly StoredVoice[];

  constructor(voices: readonly StoredVoice[]) {
    this.#voices = voices;
  }

  /** Null = there is no custom voice with this name. */
  find(provider: string, voiceId: string): StoredVoice | null {
    return this.#voices.find((voice) => voice.provider === provider && voice.voiceId === voiceId) ?? null;
  }

  /** 1 = the voice is not a custom one. */
  readonly multiplierOf = (provider: string, voiceId: string): number => this.find(provider, voiceId)?.multiplier ?? 1;
}

/** The custom voices. Sessions look them up without waiting. */
export class VoiceStore {
  readonly #database: SqlDatabase;
  readonly #live: LiveTable<StoredVoice>;

  private constructor(database: SqlDatabase, live: LiveTable<StoredVoice>) {
    this.#database = database;
    this.#live = live;
  }

  static async open(database: SqlDatabase, tables: LiveTables): Promise<VoiceStore> {
    return new VoiceStore(database, await tables.open(VOICE_VIEW));
  }

  /** Null = there is no custom voice with this name. */
  find(provider: string, voiceId: string): StoredVoice | null {
    return this.#live.get(provider, voiceId);
  }

  /** In the order of creation. */
  list(): readonly StoredVoice[] {
    return this.#live.all();
  }

  /** 1 = the voice is not a custom one. */
  readonly multiplierOf = (provider: string, voiceId: string): number => this.find(provider, voiceId)?.multiplier ?? 1;

  /** Adds a voice, or changes the one with its name. Returns the stored voice. */
  async put(voice: StoredVoice): Promise<StoredVoice> {
    const { provider, voiceId, baseVoiceId, name, model, settings, language, category, multiplier } = voice;
    const row = await this.#database.first<Row>(sql`INSERT INTO custom_voices
        (provider, voice_id, base_voice_id, name, model, settings, language, category, multiplier, created_at)
      VALUES (${provider}, ${voiceId}, ${baseVoiceId}, ${name}, ${model}, ${JSON.stringify(settings)}, ${language},
        ${category}, ${multiplier}, ${voice.createdAt})
      ON CONFLICT (provider, voice_id) DO UPDATE SET
        base_voice_id = excluded.base_voice_id, name = excluded.name, model = excluded.model,
        settings = excluded.settings, language = excluded.language, category = excluded.category,
        multiplier = excluded.multiplier
      RETURNING *`);
    await this.#live.refresh(provider, voiceId);
    return row === null ? voice : stored(row);
  }

  /** Returns whether the voice existed. */
  async remove(provider: string, voiceId: string): Promise<boolean> {
    const count = await this.#database.run(
      sql`DELETE FROM custom_voices WHERE provider = ${provider} AND voice_id = ${voiceId}`,
    );
    await this.#live.refresh(provider, voiceId);
    return count > 0;
  }
}

function stored(row: Row): StoredVoice {
  const { provider, name, model, language, category, multiplier } = row;
  return {
    provider,
    name,
    model,
    language,
    category,
    multiplier,
    voiceId: row.voice_id,
    baseVoiceId: row.base_voice_id,
    settings: JSON.parse(row.settings) as Record<string, unknown>,
    createdAt: row.created_at,
  };
}
