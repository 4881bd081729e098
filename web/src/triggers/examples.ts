/** Payloads to begin a test with. */

import type { Trigger } from "@gatepost/client";

interface Example {
  payload: unknown;
  headers: string;
}

const PULL_REQUEST = {
  action: "opened",
  number: 7,
  sender: { login: "ann", type: "User" },
  repository: { name: "shop", full_name: "acme/shop" },
  pull_request: { title: "Fix the till", draft: false, html_url: "https://example.org/acme/shop/pull/7" },
};

const INVOICE = { id: "evt_1", type: "invoice.paid", data: { object: { id: "in_1", amount_paid: 12900, currency: "eur", customer_name: "Acme" } } };

const MESSAGE = { type: "event_callback", event: { type: "message", user: "U1", channel: "C1", text: "Is the site down?" } };

const UPDATE = {
  update_id: 1,
  message: { message_id: 1, date: 1_771_400_000, chat: { id: 7, type: "private", first_name: "Ann" }, from: { id: 7, is_bot: false, first_name: "Ann" }, text: "How far is the report?" },
};

export function findExample({ provider, scheme }: Trigger): Example {
  if (provider === "telegram") return { payload: UPDATE, headers: "" };
  if (provider === "cron") return { payload: {}, headers: "" };
  if (provider !== "webhook") return { payload: { content: "The invoice 4711 is overdue", metadata: { priority: "urgent" } }, headers: "" };
  if (scheme === "github") return { payload: PULL_REQUEST, headers: "X-GitHub-Event: pull_request" };
  if (scheme === "stripe") return { payload: INVOICE, headers: "" };
  if (scheme === "slack") return { payload: MESSAGE, headers: "" };
  return { payload: { issue: "PROJ-123", action: "created", title: "The till is slow" }, headers: "" };
}
