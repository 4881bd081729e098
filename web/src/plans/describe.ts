/** Words for schedules. */

import type { Plan, PlanStatus, Schedule } from "@gatepost/client";

import { formatClock, formatDay } from "../ui/time.js";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const DAY_NAMES = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ALIASES: Record<string, string> = {
  "@hourly": "every hour",
  "@daily": "every day at 00:00",
  "@midnight": "every day at 00:00",
  "@weekly": "every Sunday at 00:00",
  "@monthly": "on day 1 of every month at 00:00",
  "@yearly": "once a year",
  "@annually": "once a year",
};

/** The time zone of this browser. */
export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Return a cron expression in words: "every day at 09:00"; the expression itself if it is a rare one. */
export function describeCron(expression: string, zone: string | null): string {
  const text = ALIASES[expression.trim().toLowerCase()] ?? describeFields(expression.trim().split(/\s+/)) ?? expression;
  return /\d\d:\d\d/.test(text) && (zone ?? "UTC") !== OWN_ZONE ? `${text} ${zone ?? "UTC"}` : text;
}

function describeFields([minute, hour, day, month, weekday, ...rest]: string[]): string | undefined {
  if (!minute || !hour || !day || !month || !weekday || rest.length > 0) return undefined;
  if (month !== "*") {
    const months = /^\d+(,\d+)*$/.test(month) ? month.split(",").map((number) => MONTHS[Number(number) - 1]) : [undefined];
    if (weekday !== "*" || !/^\d+$/.test(day) || !/^\d+$/.test(minute) || !/^\d+$/.test(hour) || months.includes(undefined)) return undefined;
    return `on ${day} ${months.join(", ")} at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  }
  const isDaily = day === "*" && weekday === "*";
  const step = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (isDaily && hour === "*" && minute === "*") return "every minute";
  if (isDaily && hour === "*" && step) return `every ${step} minutes`;
  if (isDaily && hour === "*" && /^\d+$/.test(minute)) return minute === "0" ? "every hour" : `every hour at :${minute.padStart(2, "0")}`;
  const hourStep = /^\*\/(\d+)$/.exec(hour)?.[1];
  if (isDaily && hourStep && minute === "0") return `every ${hourStep} hours`;
  if (!/^\d+$/.test(minute) || !/^\d+(,\d+)*$/.test(hour)) return undefined;
  const times = hour.split(",").map((value) => `${value.padStart(2, "0")}:${minute.padStart(2, "0")}`).join(" and ");
  if (isDaily) return `every day at ${times}`;
  if (day === "*") {
    const days = describeDays(weekday);
    return days && `${days} at ${times}`;
  }
  return weekday === "*" && /^\d+$/.test(day) ? `on day ${day} of every month at ${times}` : undefined;
}

function describeDays(text: string): string | undefined {
  const field = text.toUpperCase().replace(/[A-Z]{3}/g, (name) => String(DAY_NAMES.indexOf(name)));
  if (field === "1-5") return "on weekdays";
  if (field === "6,0" || field === "0,6" || field === "6,7") return "on weekends";
  if (!/^[0-7](,[0-7])*$/.test(field)) return undefined;
  return `every ${field.split(",").map((day) => DAYS[Number(day)]).join(" and ")}`;
}

/** Return when a plan fires. */
export function describePlan(plan: Plan): string {
  if (plan.cron !== null) return describeCron(plan.cron, plan.timeZone);
  if (plan.onGate !== null) return "when a gate is resolved";
  return plan.scheduledAt === null ? "once" : `once, ${formatMoment(plan.scheduledAt)}`;
}

/** Return when a cron trigger fires. */
export function describeSchedule(schedule: Schedule): string {
  if (schedule.cron !== null) return describeCron(schedule.cron, schedule.zone);
  if (schedule.every !== null) return `every ${schedule.every}`;
  return schedule.at === null ? "never" : `once, ${formatMoment(schedule.at)}`;
}

const STATUSES: Record<PlanStatus, { name: string; tone: string }> = {
  pending: { name: "active", tone: "accent" },
  completed: { name: "done", tone: "" },
  cancelled: { name: "cancelled", tone: "danger" },
};

export function describeStatus(plan: Plan): { name: string; tone: string } {
  if (plan.status === "pending" && !plan.active) return { name: "disabled", tone: "" };
  if (plan.status === "pending" && plan.nextRunAt === null && plan.onGate !== null) return { name: "waits", tone: "warn" };
  return STATUSES[plan.status];
}

/** Return a time of the present days: "Today 09:00", "3 Nov 14:20". */
export function formatMoment(time: string): string {
  return `${formatDay(time)} ${formatClock(time)}`;
}
