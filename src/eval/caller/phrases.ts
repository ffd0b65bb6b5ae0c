import { baseLanguage } from '../../base/language.js';
import { spokenNumber } from '../../base/spoken-number.js';

/** What an embedded persona says, and what it recognises of the agent, in one language. */
export interface CallerPhrases {
  hello: string;
  yes: readonly string[];
  no: readonly string[];
  /** Nothing else is wanted. */
  thatIsAll: readonly string[];
  goodbye: readonly string[];
  unknown: readonly string[];
  silence: string;
  /** `{value}` is the right value. */
  correction: string;
  mindChanged: string;
  /** A value that was not understood, said again. */
  inSentence: string;
  hesitations: readonly string[];
  digression: readonly string[];
  impatient: readonly string[];
  overAgent: readonly string[];
  /** Before a goal that is no sentence. */
  goal: string;
  recognises: {
    /** Questions whether what was understood is right. */
    confirmation: RegExp;
    anythingElse: RegExp;
    /** The agent asks to hear it again. */
    repeat: RegExp;
    goodbye: RegExp;
    question: RegExp;
    stillThere: RegExp;
    offerHelp: RegExp;
  };
  /** Words in questions for facts with usual names. */
  asked: Readonly<Record<string, RegExp>>;
  numbers: readonly string[];
}

const ENGLISH: CallerPhrases = {
  hello: 'Hello?',
  yes: ['Yes, please.', "Yes, that's right.", 'Yes.'],
  no: ['No, thank you.', 'No.'],
  thatIsAll: ["No, that's all, thank you.", 'No, thank you.', "That's all."],
  goodbye: ['Thank you, goodbye.', 'Goodbye.', 'Bye.'],
  unknown: ["I don't know.", "I'm not sure.", "I can't say."],
  silence: 'Hello? Are you still there?',
  correction: 'No, {value}.',
  mindChanged: 'Actually, make it {value}.',
  inSentence: '{value}, please.',
  hesitations: ['um …', 'well …', 'let me think …'],
  digression: [
    'By the way, is there parking nearby?',
    'It is raining so hard today.',
    'My neighbour told me about you.',
  ],
  impatient: ['Can we do this quickly?', 'I have little time.'],
  overAgent: ['Yes, yes.', 'Wait.', 'Hold on.'],
  goal: 'I would like to {goal}.',
  recognises: {
    confirmation:
      /\b(is that (right|correct|all right|ok(ay)?)|correct\?|right\?|shall i|should i|do i have that|did i get|can you confirm|please confirm|is this correct|ok(ay)? (for|with) you|does that (work|sound|suit)|would that be)\b|\b(right|correct)\?/i,
    anythingElse: /\b(anything else|something else|what else|any other|else (i|we) can)\b/i,
    repeat:
      /\b(say (that|it) (again|in)|repeat|went past me|(could|did) ?n[o']?t (hear|catch|understand|get)|did not (hear|catch|understand|get)|could not (hear|catch|understand)|pardon|once more|come again|again, please|sorry, (what|which|how))\b/i,
    goodbye: /\b(good ?bye|bye|have a (nice|good|great|lovely) (day|evening|one)|see you|talk to you soon)\b/i,
    question:
      /\?|\b(please (tell|say|give|spell|enter)|what|which|when|how (many|long|old|much)|who|where|your|may i have|could i have|can i have)\b/i,
    stillThere: /\b(still there|are you there|hello\?|can you hear)\b/i,
    offerHelp: /\b((can|may|could) i (help|do for)|how (can|may) (i|we) help|what can (i|we) do)\b/i,
  },
  asked: {
    name: /\b(name|who (am i|is) (speaking|calling|it)|whom|who should|under (which|what))\b/i,
    first_name: /\bfirst name\b/i,
    last_name: /\b(last|family) name|surname\b/i,
    party: /\b(how many|party|people|guests|persons|seats)\b/i,
    people: /\b(how many|party|people|guests|persons)\b/i,
    guests: /\b(how many|party|people|guests|persons)\b/i,
    day: /\b(day|date|when)\b/i,
    date: /\b(day|date|when)\b/i,
    time: /\b(what time|which time|time|when|o'?clock|hour)\b/i,
    phone: /\b(phone|telephone|number (can|to) (we|i)? ?(reach|call)|call you back|mobile)\b/i,
    email: /\b(e-?mail)\b/i,
    address: /\b(address|street|where do you live)\b/i,
    birthday: /\b(birth(day)?|date of birth|born)\b/i,
    date_of_birth: /\b(birth(day)?|date of birth|born)\b/i,
    reason: /\b(reason|why|what (is it|for)|about|concern|problem|matter)\b/i,
    reference: /\b(reference|confirmation (number|code)|booking (number|code)|order number)\b/i,
    account: /\b(account|customer) (number|id)?\b/i,
    amount: /\b(how much|amount)\b/i,
    wishes: /\b(wish(es)?|request|allerg|preference)\b/i,
    rating: /\b(rate|rating|scale|one to (five|ten)|score|satisfied|recommend)\b/i,
  },
  numbers: Array.from({ length: 21 }, (_, value) => spokenNumber(value)),
};

const GERMAN: CallerPhrases = {
  hello: 'Hallo?',
  yes: ['Ja, bitte.', 'Ja, das stimmt.', 'Ja.'],
  no: ['Nein, danke.', 'Nein.'],
  thatIsAll: ['Nein, das ist alles, danke.', 'Nein, danke.', 'Das ist alles.'],
  goodbye: ['Danke, auf Wiederhören.', 'Auf Wiederhören.', 'Tschüss.'],
  unknown: ['Das weiß ich nicht.', 'Ich bin nicht sicher.', 'Das kann ich nicht sagen.'],
  silence: 'Hallo? Sind Sie noch da?',
  correction: 'Nein, {value}.',
  mindChanged: 'Oder doch lieber {value}.',
  inSentence: '{value}, bitte.',
  hesitations: ['ähm …', 'also …', 'Moment …'],
  digression: [
    'Gibt es bei Ihnen eigentlich Parkplätze?',
    'Heute regnet es ja sehr.',
    'Mein Nachbar hat Sie empfohlen.',
  ],
  impatient: ['Geht das auch schneller?', 'Ich habe wenig Zeit.'],
  overAgent: ['Ja, ja.', 'Moment.', 'Warten Sie.'],
  goal: 'Ich möchte {goal}.',
  recognises: {
    confirmation:
      /\b(ist das (richtig|korrekt|so recht|in ordnung)|stimmt das|richtig\?|korrekt\?|soll ich|passt (das|ihnen)|einverstanden)/i,
    anythingElse: /\b(sonst noch|noch etwas|noch was|weiteres|außerdem)/i,
    repeat: /\b(wiederholen|noch ?mal|nicht (verstanden|gehört)|wie bitte)/i,
    goodbye: /\b(auf wieder(hören|sehen)|tschüss|schönen (tag|abend))/i,
    question: /\?|\b(welche[rsnm]?|wann|wie (viele|lange|alt)|wer|wo|ihre?n?|bitte (sagen|nennen|geben))\b/i,
    stillThere: /\b(noch da|hören sie mich|hallo\?)/i,
    offerHelp: /\b(wie kann ich|was kann ich|womit kann ich)/i,
  },
  asked: {
    name: /\b(name|wer (spricht|ist))/i,
    party: /\b(wie viele|personen|gäste|leute)/i,
    people: /\b(wie viele|personen|gäste|leute)/i,
    day: /\b(tag|datum|wann)\b/i,
    date: /\b(tag|datum|wann)\b/i,
    time: /\b(uhrzeit|wann|um wie viel|welche zeit)/i,
    phone: /\b(telefon|nummer|zurückrufen|handy)/i,
    email: /\be-?mail/i,
    address: /\b(adresse|straße|wohnen)/i,
    date_of_birth: /\b(geburt|geboren)/i,
    reason: /\b(grund|warum|worum|anliegen)/i,
  },
  numbers: ['null', 'eins', 'zwei', 'drei', 'vier', 'fünf', 'sechs', 'sieben', 'acht', 'neun', 'zehn', 'elf', 'zwölf'],
};

const SPANISH: CallerPhrases = {
  hello: '¿Diga?',
  yes: ['Sí, por favor.', 'Sí, correcto.', 'Sí.'],
  no: ['No, gracias.', 'No.'],
  thatIsAll: ['No, eso es todo, gracias.', 'No, gracias.', 'Eso es todo.'],
  goodbye: ['Gracias, adiós.', 'Adiós.', 'Hasta luego.'],
  unknown: ['No lo sé.', 'No estoy seguro.', 'No sabría decirle.'],
  silence: '¿Hola? ¿Sigue ahí?',
  correction: 'No, {value}.',
  mindChanged: 'Mejor {value}.',
  inSentence: '{value}, por favor.',
  hesitations: ['eh …', 'bueno …', 'a ver …'],
  digression: ['Por cierto, ¿hay aparcamiento?', 'Hoy llueve mucho.', 'Me los recomendó un vecino.'],
  impatient: ['¿Puede ser rápido?', 'Tengo poco tiempo.'],
  overAgent: ['Sí, sí.', 'Espere.', 'Un momento.'],
  goal: 'Quisiera {goal}.',
  recognises: {
    confirmation: /(es correcto|correcto\?|verdad\?|está bien|le parece|confirma|desea que)/i,
    anythingElse: /(algo más|alguna otra|otra cosa)/i,
    repeat: /(repetir|repita|otra vez|no (le )?(he )?(entendido|oído|entendí|oí)|cómo dice)/i,
    goodbye: /(adiós|hasta (luego|pronto)|buen día|que tenga)/i,
    question: /\?|¿|(qué|cuál|cuándo|cuánt|quién|dónde|su |dígame)/i,
    stillThere: /(sigue ahí|me oye|hola\?)/i,
    offerHelp: /(en qué puedo|cómo puedo)/i,
  },
  asked: {
    name: /(nombre|quién (habla|llama)|se llama)/i,
    party: /(cuánt[oa]s|personas|comensales)/i,
    people: /(cuánt[oa]s|personas)/i,
    day: /(día|fecha|cuándo)/i,
    date: /(día|fecha|cuándo)/i,
    time: /(hora|cuándo)/i,
    phone: /(teléfono|número|móvil)/i,
    email: /(correo|e-?mail)/i,
    address: /(dirección|calle)/i,
  },
  numbers: ['cero', 'uno', 'dos', 'tres', 'cuatro', 'cinco', 'seis', 'siete', 'ocho', 'nueve', 'diez', 'once', 'doce'],
};

const FRENCH: CallerPhrases = {
  hello: 'Allô ?',
  yes: ["Oui, s'il vous plaît.", "Oui, c'est ça.", 'Oui.'],
  no: ['Non, merci.', 'Non.'],
  thatIsAll: ["Non, c'est tout, merci.", 'Non, merci.', "C'est tout."],
  goodbye: ['Merci, au revoir.', 'Au revoir.'],
  unknown: ['Je ne sais pas.', 'Je ne suis pas sûr.', 'Je ne saurais pas dire.'],
  silence: 'Allô ? Vous êtes toujours là ?',
  correction: 'Non, {value}.',
  mindChanged: 'Finalement, plutôt {value}.',
  inSentence: "{value}, s'il vous plaît.",
  hesitations: ['euh …', 'alors …', 'attendez …'],
  digression: ['Au fait, y a-t-il un parking ?', "Il pleut beaucoup aujourd'hui.", 'Mon voisin vous a recommandés.'],
  impatient: ['On peut aller plus vite ?', "J'ai peu de temps."],
  overAgent: ['Oui, oui.', 'Attendez.', 'Un instant.'],
  goal: 'Je voudrais {goal}.',
  recognises: {
    confirmation:
      /(est-ce (exact|correct|bien|que (c'est|cela) (convient|va))|c'est (bien )?(ça|exact|correct)|correct \?|exact \?|souhaitez-vous que|vous convient)/i,
    anythingElse: /(autre chose|quelque chose d'autre|d'autre)/i,
    repeat: /(répéter|répétez|encore une fois|pas (compris|entendu)|pardon \?)/i,
    goodbye: /(au revoir|bonne (journée|soirée)|à bientôt)/i,
    question: /\?|\b(quel(le)?s?|quand|combien|qui|où|votre|vos)\b/i,
    stillThere: /(toujours là|m'entendez|allô \?)/i,
    offerHelp: /(puis-je (vous )?aider|que puis-je|comment puis-je)/i,
  },
  asked: {
    name: /\b(nom|qui est)/i,
    party: /(combien|personnes|convives)/i,
    people: /(combien|personnes)/i,
    day: /\b(jour|date|quand)/i,
    date: /\b(jour|date|quand)/i,
    time: /\b(heure|quand)/i,
    phone: /(téléphone|numéro|portable)/i,
    email: /(e-?mail|courriel|adresse électronique)/i,
    address: /(adresse|rue)/i,
  },
  numbers: ['zéro', 'un', 'deux', 'trois', 'quatre', 'cinq', 'six', 'sept', 'huit', 'neuf', 'dix', 'onze', 'douze'],
};

const BY_LANGUAGE: Readonly<Record<string, CallerPhrases>> = { en: ENGLISH, de: GERMAN, es: SPANISH, fr: FRENCH };

/** Languages of embedded personas. */
export const PERSONA_LANGUAGES = Object.keys(BY_LANGUAGE);

/** @returns null for a language that embedded personas do not speak */
export function callerPhrases(language: string): CallerPhrases | null {
  return BY_LANGUAGE[language === 'multi' ? 'en' : baseLanguage(language)] ?? null;
}
