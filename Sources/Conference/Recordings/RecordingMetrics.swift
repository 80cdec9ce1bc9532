import Basics
import Recording

extension RecordingControl {
    /// The recordings' samples of the metrics page.
    var samples: [MetricSample] {
        let (refused, losses) = (self.refused, self.losses)
        var samples = Refusal.allCases.map { reason in
            MetricSample(
                "tessera_recordings_refused_total", "Recordings that were not started.", .counter,
                Double(refused[reason] ?? 0),
                labels: ["reason": reason.rawValue])
        }
        for (kind, count) in [("video", losses.video), ("audio", losses.audio)] {
            samples.append(
                MetricSample(
                    "tessera_recording_dropped_total", "Frames and audio blocks that a slow disk lost.", .counter,
                    Double(count),
                    labels: ["kind": kind]))
        }
        samples += [
            MetricSample(
                "tessera_recording_waiting_bytes", "Media that waits for the disk.", .gauge, Double(memory.waiting)),
            MetricSample(
                "tessera_recording_preroll_bytes", "Media that is kept for recordings that may start.", .gauge,
                Double(preRollMemory.waiting)),
            MetricSample(
                "tessera_recordings_known", "Recordings in the directory.", .gauge, Double(catalogue?.count ?? 0)),
            MetricSample(
                "tessera_recording_repairs_waiting",
                "Recordings that a crash left open and that wait for their repair.",
                .gauge,
                Double(repairsWaiting)),
        ]
        samples += deliveries.samples + retentionSamples
        if let space = reserve.lastSpace {
            samples += [
                MetricSample(
                    "tessera_recording_disk_free_bytes", "Free bytes on the recordings' disk.", .gauge,
                    Double(space.free)),
                MetricSample(
                    "tessera_recording_disk_reserve_bytes", "Bytes that recordings leave free.", .gauge,
                    Double(reserve.floor(ofSize: space.size))),
            ]
        }
        return samples
    }
}
