package import Basics
import Mixing
import RoomMedia
import Sockets
import Synchronization
import Threads

extension Conference {
    /// The samples of the metrics page.
    ///
    /// - Parameter namesPrivateRooms: whether private rooms (`RoomSettings.isPrivate`) have samples of their own, with
    ///   their names; false: they are among the others.
    package func metrics(namesPrivateRooms: Bool = true) -> [MetricSample] {
        let held = registry.rooms.compactMap { $0.read { RoomReading($0) } }
        let engines = held.map(\.engine)
        var samples = [
            MetricSample("tessera_rooms", "Rooms that exist.", .gauge, Double(held.count)),
            MetricSample(
                "tessera_participants", "Participants and viewers in all rooms.", .gauge,
                Double(held.reduce(0) { $0 + $1.people })),
            MetricSample(
                "tessera_recordings_running", "Recordings that run or are paused.", .gauge,
                Double(held.reduce(0) { $0 + $1.recordings })),
            MetricSample(
                "tessera_overload_level", "0 none, 1 fast encoders, 2 half rate, 3 no top rung, 4 no new rooms.",
                .gauge,
                Double(media.overload.level.rawValue)),
            MetricSample(
                "tessera_capacity_used_ratio",
                "How much of the server's capacity is used: the larger of the shares of the encoder threads and of the busiest network loop.",
                .gauge, usedCapacity),
            MetricSample(
                "tessera_audio_tick_lateness_seconds", "How late the last audio tick was.", .gauge,
                Double(media.audioClocks.map { $0.lateness.load(ordering: .relaxed) }.max() ?? 0) / 1e9),
            MetricSample(
                "tessera_audio_ticks_skipped_total", "Audio ticks that were missed.", .counter,
                Double(media.audioClocks.reduce(0) { $0 + $1.skipped.load(ordering: .relaxed) })),
            MetricSample(
                "tessera_picture_tick_lateness_seconds", "How late the last picture tick was.", .gauge,
                Double(media.videoClock.lateness.load(ordering: .relaxed)) / 1e9),
            MetricSample(
                "tessera_picture_ticks_skipped_total", "Picture ticks that were missed.", .counter,
                Double(media.videoClock.skipped.load(ordering: .relaxed))),
            MetricSample(
                "tessera_encode_failures_total", "Frames that an encoder could not make.", .counter,
                Double(statistics.encodeFailures)),
            MetricSample(
                "tessera_text_cache_bytes", "Cached drawings of names and marks, for all rooms.", .gauge,
                Double(TextRenderer.shared.cachedBytes)),
        ]
        let backlogs = [
            ("loop", BacklogStatistics.worst(of: media.peers.backlogs)),
            ("audio", BacklogStatistics.worst(of: media.audioClocks.map(\.backlog))), ("control", control.backlog),
        ]
        for (name, backlog) in backlogs {
            samples.append(
                MetricSample(
                    "tessera_backlog", "Pieces of work that wait for a thread.", .gauge, Double(backlog.waiting),
                    labels: ["thread": name]))
            samples.append(
                MetricSample(
                    "tessera_backlog_peak", "The most that ever waited for a thread at once.", .gauge,
                    Double(backlog.peak),
                    labels: ["thread": name]))
        }
        samples += events.samples
        for meter in media.meters.all {
            let stage = ["stage": meter.name]
            samples.append(
                MetricSample(
                    "tessera_stage_cpu_seconds_total", "Processor time by stage.", .counter, meter.seconds,
                    labels: stage))
            samples.append(
                MetricSample(
                    "tessera_stage_jobs_total", "Jobs done by stage.", .counter, Double(meter.count), labels: stage))
            samples.append(
                MetricSample(
                    "tessera_stage_dropped_total", "Jobs dropped because the stage was behind.", .counter,
                    Double(meter.dropped),
                    labels: stage))
        }
        samples += media.meters.delays.samples
        samples += registry.samples + media.peers.samples(at: MonotonicClock.now()) + intakeSamples
        samples += media.peers.sockets.statistics.samples(configuration.limits)
        samples.append(MetricSample.limit("views_per_room", of: configuration.limits.viewsPerRoom))
        samples.append(
            MetricSample(
                "tessera_room_engines_running",
                "Rooms whose media runs since a peer, a recording or a snapshot takes its output.", .gauge,
                Double(engines.count(where: \.isRunning))))
        samples += streams.samples + recordings.control.samples + chat.pictures.samples + inputs.samples
        samples += disks.samples(at: MonotonicClock.now())
        samples += hls.samples(registry.rooms.compactMap { $0.read(\.outputs.hls) ?? nil })
        let views = engines.flatMap(\.allViews)
        let late = views.reduce(0) { $0 + $1.lateTicks.load(ordering: .relaxed) }
        samples.append(
            MetricSample(
                "tessera_compose_late_ticks_total",
                "Picture ticks skipped in running rooms because composing was behind.",
                .counter, Double(late)))
        return samples + media.meters.quality.samples(room: nil) + roomSamples(held, namesPrivateRooms)
    }

    /// The samples by room: of the busiest rooms, and of all others together.
    private func roomSamples(_ rooms: [RoomReading], _ namesPrivateRooms: Bool) -> [MetricSample] {
        let people = Dictionary(rooms.map { ($0.id, $0.people) }) { first, _ in first }
        let chosen = busiestRooms.withLock { $0.choose(among: people) }
        let now = MonotonicClock.now()
        var samples: [MetricSample] = []
        var others: [RoomReading] = []
        for room in rooms {
            if chosen.contains(room.id), namesPrivateRooms || !room.isPrivate {
                let own = RoomSamples(room)
                samples += own.gauges(at: now) + own.counters()
            } else {
                others.append(room)
            }
        }
        samples.append(
            MetricSample(
                "tessera_rooms_with_series", "Rooms that have series with their names.", .gauge,
                Double(rooms.count - others.count)))
        if !others.isEmpty { samples += RoomSamples(others: others).gauges(at: now) }
        return samples
    }

    /// Frames, packets, events and peers that were refused, dropped or lost between the loops and the rooms.
    private var intakeSamples: [MetricSample] {
        let intake = media.meters.intake
        var samples = DecodeRefusal.allCases.map { refusal in
            MetricSample(
                "tessera_video_frames_refused_total", "Frames of senders that were not decoded, by reason.", .counter,
                Double(intake.frames(refusal)), labels: ["reason": refusal.rawValue])
        }
        samples += ForwardingFault.allCases.map { fault in
            MetricSample(
                "tessera_forwarding_ended_total", "Pictures that could not be forwarded any more, by reason.", .counter,
                Double(intake.ends(fault)), labels: ["reason": fault.rawValue])
        }
        for (reason, count) in statistics.peersFailed {
            samples.append(
                MetricSample(
                    "tessera_peers_failed_total", "Peers whose connection failed, by the reason.", .counter,
                    Double(count),
                    labels: ["reason": reason.rawValue]))
        }
        for (name, help, count) in [
            (
                "tessera_video_frames_forwarded_total", "Frames that went on as they came.",
                intake.forwardedFrames.load(ordering: .relaxed)
            ),
            (
                "tessera_video_frames_decoded_total", "Frames of senders that were decoded.",
                intake.decodedFrames.load(ordering: .relaxed)
            ),
            (
                "tessera_video_frames_skipped_total", "Frames of senders that a budget left out.",
                intake.skippedFrames.load(ordering: .relaxed)
            ),
            (
                "tessera_audio_packets_dropped_total", "Audio packets that waited for too long.",
                intake.droppedAudioPackets.load(ordering: .relaxed)
            ),
            (
                "tessera_audio_packets_rested_total",
                "Audio packets that were not decoded because they were inaudible.",
                intake.restedAudioPackets.load(ordering: .relaxed)
            ),
            (
                "tessera_audio_failures_total", "Audio packets that could not be decoded.",
                intake.audioFailures.load(ordering: .relaxed)
            ),
            (
                "tessera_events_dropped_total", "Messages that were not delivered since too many waited.",
                roomService.eventCounters.dropped.load(ordering: .relaxed)
            ),
            (
                "tessera_events_replaced_total", "States that a newer one replaced before their delivery.",
                roomService.eventCounters.replaced.load(ordering: .relaxed)
            ),
            (
                "tessera_control_dropped_total",
                "Chat messages of data channels that were dropped since too much waited for the control thread.",
                control.dropped
            ),
        ] {
            samples.append(MetricSample(name, help, .counter, Double(count)))
        }
        return samples
    }
}

extension RoomReading {
    fileprivate init(_ slot: RoomRecord) {
        self.init(
            id: slot.room.id, people: slot.room.members.count, recordings: slot.outputs.running.count,
            isPrivate: slot.room.settings.isPrivate, engine: slot.engine)
    }
}
