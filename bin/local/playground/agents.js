/** @import { AgentSummary, EditedAgent } from './types.d.ts' */
import { createAgentForm, newDefinition } from './agent-form.js';
import { differenceOf, textOf } from './agent-text.js';
import { createTrial } from './agent-trial.js';
import { confirmAction } from './dialogs.js';
import {
  button,
  byId,
  field,
  fill,
  html,
  linkItem,
  messageOf,
  onceAFrame,
  shortTime,
  submitButton,
} from './dom.js';
import { OperationFailed, ofKey, operate } from './operator.js';

/** Agents as their operator sees them: write a draft, try it, compare it, publish it, and go back. */
export class Agents {
  #list = byId('agent-list', HTMLUListElement);
  #view = byId('agents-view', HTMLElement);
  /** The pages of agents, with their unsaved changes. @type {Map<string, AgentPage>} */
  #pages = new Map();
  /** The key of the page that was opened last. A page that was opened before and loads later is not shown. */
  #openKey = '';
  #onPublished;

  /** @param {() => void} onPublished called when what clients see has changed */
  constructor(onPublished) {
    this.#onPublished = onPublished;
  }

  /** Forgets all pages of agents, because a new key may belong to another workspace. */
  forget() {
    this.#pages.clear();
  }

  /** @param {string | undefined} id undefined for a new agent */
  async open(id) {
    const key = id ?? '';
    this.#openKey = key;
    const page = this.#pages.get(key);
    // The page is inserted only if it is not shown, because a node that is inserted again loses the focus.
    const isChanged = page?.isChanged === true;
    if (isChanged && !this.#view.contains(page.node)) fill(this.#view, page.node);
    await this.#loadList(id);
    if (isChanged) return;
    /** @type {EditedAgent | undefined} */
    const agent = id === undefined ? undefined : await operate('get', { agent_id: id });
    if (this.#openKey !== key) return;
    const opened = new AgentPage(agent, (saved, isPublished) => {
      this.#pages.delete(key);
      this.#pages.set(saved.id, opened);
      if (isPublished) this.#onPublished();
      if (id === undefined && this.#view.contains(opened.node))
        history.replaceState(null, '', `#/agents/${saved.id}`);
      void this.#loadList(saved.id);
    });
    this.#pages.set(key, opened);
    fill(this.#view, opened.node);
  }

  /** @param {string | undefined} openId */
  async #loadList(openId) {
    const { agents } = /** @type {{ agents: AgentSummary[] }} */ (await operate('list', ofKey()));
    const items = agents.map((agent) => itemOf(agent, agent.id === openId));
    fill(this.#list, ...items, agents.length === 0 && html.li({ class: 'hint' }, 'No agent yet.'));
  }
}

/**
 * @param {AgentSummary} agent
 * @param {boolean} isOpen
 */
const itemOf = ({ id, name, publish_state, version_number, llm_model }, isOpen) =>
  linkItem(
    { href: `#/agents/${id}`, 'aria-current': isOpen ? 'page' : undefined },
    [name],
    [publish_state === 'published' ? `version ${version_number}` : publish_state, llm_model],
  );

class AgentPage {
  /** Undefined until it is saved. @type {EditedAgent | undefined} */
  #agent;
  #onSaved;
  #form;
  /** The text of the saved draft; of a new agent, until it is saved, the text that its form starts with. */
  #savedText = '';
  #heading = html.h1();
  #state = html.span({ class: 'hint', role: 'status' });
  #mistakes = html.div({ class: 'error', role: 'alert', hidden: true });
  #publish = button('Publish', () => this.#publishDraft(), { class: 'button' });
  #compared = html.select({ change: () => this.#drawDifference() });
  #difference = html.div();
  #versions = html.ol({ class: 'versions' });
  #published = html.div(
    { class: 'page-part' },
    html.h2('Difference'),
    field('From', this.#compared),
    this.#difference,
    html.h2('Versions'),
    this.#versions,
  );
  node;

  /**
   * @param {EditedAgent | undefined} agent undefined for a new one
   * @param {(agent: EditedAgent, isPublished: boolean) => void} onSaved called after each change of the stored agent;
   * `isPublished`: whether clients see the change, so not for a draft
   */
  constructor(agent, onSaved) {
    this.#onSaved = onSaved;
    this.#form = createAgentForm(onceAFrame(() => this.#drawDraft()));
    this.#form.fill(agent?.definition ?? newDefinition);
    const publishedNumber = () => this.#publishedVersion?.number;
    const trial = createTrial({ save: () => this.#save(), publishedNumber });
    this.node = html.div(
      { class: 'page agent' },
      this.#heading,
      html.form(
        { class: 'page-part', 'aria-label': 'Draft', submit: () => this.#save() },
        ...this.#form.nodes,
        this.#mistakes,
        html.p({ class: 'form-end' }, submitButton('Save the draft'), this.#publish, this.#state),
      ),
      html.h2('Try it'),
      ...trial.nodes,
      this.#published,
    );
    this.#show(agent);
  }

  get isChanged() {
    return this.#text() !== this.#savedText;
  }

  get #publishedVersion() {
    return this.#agent?.versions.find(({ published }) => published);
  }

  /** The text of the fields; undefined if their JSON cannot be read, or is not an object. */
  #text() {
    try {
      return textOf(this.#form.read());
    } catch {
      return undefined;
    }
  }

  /** @param {EditedAgent | undefined} agent */
  #show(agent) {
    this.#agent = agent;
    this.#savedText = textOf(agent?.definition ?? newDefinition);
    const versions = agent?.versions ?? [];
    fill(this.#heading, agent?.definition.name ?? 'New agent');
    this.#published.hidden = versions.length === 0;
    const options = versions.map(({ number, published }) => {
      const label = `Version ${number}${published ? ', published' : ''}`;
      return html.option({ value: number, selected: published }, label);
    });
    fill(this.#compared, ...options);
    fill(this.#versions, ...versions.map((version) => this.#versionItem(version)));
    this.#drawDraft();
  }

  /** @param {EditedAgent['versions'][number]} version */
  #versionItem({ number, published_at, published, copy_of }) {
    const copy = copy_of !== null && `copy of version ${copy_of}`;
    const facts = [shortTime(published_at), copy, published && 'published'];
    return html.li(
      html.strong(`Version ${number}`),
      html.span({ class: 'hint' }, facts.filter(Boolean).join(' · ')),
      !published && button(`Go back to version ${number}`, () => this.#goBack(number)),
    );
  }

  /** Draws what depends on the fields. */
  #drawDraft() {
    const text = this.#text();
    const published = this.#publishedVersion;
    const isPublished = published !== undefined && textOf(published.definition) === this.#savedText;
    this.#publish.hidden = this.#agent === undefined;
    if (text !== this.#savedText) fill(this.#state, 'Not saved');
    else if (this.#agent === undefined) fill(this.#state);
    else if (isPublished) fill(this.#state, `Saved, and published as version ${published.number}`);
    else fill(this.#state, 'Saved, not published');
    this.#drawDifference();
  }

  #drawDifference() {
    const version = this.#agent?.versions.find(({ number }) => String(number) === this.#compared.value);
    const text = this.#text();
    if (version === undefined || text === undefined) fill(this.#difference);
    else fill(this.#difference, differenceOf(textOf(version.definition), text));
  }

  /**
   * Saves the draft, if it is new or has changed.
   *
   * @returns {Promise<string | undefined>} the agent's id; undefined if the draft could not be saved
   */
  async #save() {
    if (this.#agent !== undefined && !this.isChanged) return this.#agent.id;
    return this.#attempt(() => {
      const definition = this.#form.read();
      return this.#agent === undefined
        ? operate('create', { ...ofKey(), definition })
        : operate('update', { agent_id: this.#agent.id, definition });
    }, false);
  }

  async #publishDraft() {
    const agent_id = await this.#save();
    if (agent_id !== undefined) await this.#attempt(() => operate('publish', { agent_id }), true);
  }

  /** @param {number} to */
  async #goBack(to) {
    const text = `Clients get version ${to} again, as a new version. The draft stays as it is.`;
    if (this.#agent === undefined || !(await confirmAction('Go back?', text, `Go back to version ${to}`)))
      return;
    const { id: agent_id } = this.#agent;
    await this.#attempt(() => operate('rollback', { agent_id, to }), true);
    // After a success the pressed button is gone, so the first button gets the focus.
    this.#versions.querySelector('button')?.focus();
  }

  /**
   * @param {() => Promise<EditedAgent>} operation
   * @param {boolean} isPublished
   */
  async #attempt(operation, isPublished) {
    const before = this.#text();
    try {
      const agent = await operation();
      this.#mistakes.hidden = true;
      // Shows also what the run has added to the definition, unless a person has typed meanwhile.
      if (this.#text() === before) this.#form.fill(agent.definition);
      this.#show(agent);
      this.#onSaved(agent, isPublished);
      return agent.id;
    } catch (error) {
      const reasons = error instanceof OperationFailed ? error.reasons : [messageOf(error)];
      this.#mistakes.hidden = false;
      const items = reasons.map((reason) => html.li(reason));
      fill(this.#mistakes, html.ul({ class: 'mistakes' }, ...items));
      return undefined;
    }
  }
}
