import { sandboxProfile } from '../../config/profile-name.ts';
import { EMBEDDED } from '../../context.ts';
import { shortDuration } from '../../io/duration-text.ts';
import type { Table } from '../../io/io.ts';
import type { JobView } from '../../jobs/job-view.ts';

/** Jobs as a table: what tells them apart first, then what fits. A job that cost nothing always says so: `sandbox`. */
export function jobTable(views: readonly JobView[], nowMs: number): Table {
  const hasSandbox = views.some(({ gateway }) => gateway === EMBEDDED);
  return {
    columns: [
      { name: 'id', whole: true },
      { name: 'status', whole: true },
      { name: 'age', align: 'right', whole: true },
      { name: 'link', align: 'right', whole: true },
      { name: 'record', align: 'right', whole: true },
      { name: 'saved', whole: true, optional: true },
      { name: 'prompt' },
      { name: 'family', whole: true, optional: true },
      { name: 'model', whole: true, optional: true },
      { name: 'file', optional: true },
      { name: 'profile', whole: true, ...(hasSandbox ? { terminalAt: 2 } : { optional: true }) },
    ],
    rows: views.map((view) => ({
      id: view.id,
      cells: [
        view.id,
        view.status,
        shortDuration(nowMs - Date.parse(view.created_at)),
        lifeText(view.link_expires_at, nowMs, 'dead'),
        lifeText(view.record_expires_at, nowMs, 'gone'),
        view.saved === null ? '-' : view.saved ? 'yes' : 'no',
        view.prompt ?? '-',
        view.family,
        view.model ?? '-',
        view.files.map((file) => file.path).join(' ') || '-',
        view.gateway === EMBEDDED ? sandboxProfile : view.profile,
      ],
    })),
  };
}

function lifeText(expiresAt: string | null, nowMs: number, over: string): string {
  if (expiresAt === null) return '-';
  const leftMs = Date.parse(expiresAt) - nowMs;
  return leftMs > 0 ? shortDuration(leftMs) : over;
}
