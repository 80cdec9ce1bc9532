package import Basics
package import Codecs
import Mixing
import Peer

/// What takes the room's output beside its participants.
extension RoomEngine {
    /// Adds a tap: `video` takes the frames of the view's top H.264 rendition on the encoder's lane, from a keyframe on,
    /// and `audio` the mix with its room time at 48 kHz, both without participants who are not recorded. There is no
    /// picture while the scene does not use the view.
    package func tap(
        _ name: String, _ view: ViewID = .main, needs: TapNeeds = TapNeeds(),
        video: @escaping @Sendable (EncodedVideoFrame) -> Void, audio: @escaping @Sendable ([Float], Int64) -> Void
    ) -> RoomTap {
        let gate = TapGate(video: video, audio: audio) { [weak self] in self?.settle(name, on: $0) }
        use(.tap(name), true) { state in
            state.taps.add(name, RoomTaps.Tap(view: view, needs: needs, gate: gate))
            services.audio.execute { [id] in $0.all[id]?.tap(name, of: view.group) { gate.take($0, at: $1) } }
        }
        return RoomTap(name, view: view, of: self)
    }

    /// Adds a tap of a group's mix alone, which needs no picture.
    package func tapAudio(
        _ name: String, of group: GroupID = .main, _ audio: @escaping @Sendable ([Float], Int64) -> Void
    ) -> RoomTap {
        let gate = TapGate(audio: audio)
        use(.tap(name), true) { state in
            state.taps.add(name, RoomTaps.AudioTap(group: group, gate: gate))
            services.audio.execute { [id] in $0.all[id]?.tap(name, of: group) { gate.take($0, at: $1) } }
        }
        return RoomTap(name, view: .main, of: self)
    }

    /// Adds a tap of what each participant of a group sends, which goes on while the room runs. No picture is decoded or
    /// encoded for it.
    ///
    /// - Returns: what ends it.
    package func tapTracks(_ name: String, of group: GroupID = .main, _ tap: TrackTap) -> @Sendable () -> Void {
        let intakes = state.withLock { state -> [VideoIntake] in
            if state.isClosed { return [] }
            let tracks = RoomTaps.Tracks(group: group, tap: tap, gate: TapGate(audio: { _, _ in }))
            state.taps.add(name, tracks)
            services.audio.execute { [id] in $0.all[id]?.tapVoices(name, of: group, tracks.voices) }
            return state.taps.trackPictures(in: state.scene, state.people)
        }
        for intake in intakes { intake.beginTrack() }
        return { [weak self] in self?.endTracks(name) }
    }

    private func endTracks(_ name: String) {
        state.withLock { state in
            state.taps.endTracks(name)
            services.audio.execute { [id] in $0.all[id]?.endVoicesTap(name) }
            _ = state.taps.trackPictures(in: state.scene, state.people)
        }
    }

    func endTap(_ name: String) {
        use(.tap(name), false) { state in
            state.taps.end(name, in: state.views)
            services.audio.execute { [id] in $0.all[id]?.endTap(name) }
        }
    }

    func rendition(ofTap name: String) -> Rendition? {
        state.withLock { state in state.taps.taps[name]?.key.flatMap { state.views[$0.view]?.rendition($0) } }
    }

    /// Ends what a tap took before a source, whose frames it gets now.
    private func settle(_ name: String, on number: Int) {
        let ended: [MixView] = state.withLock { state in
            state.taps.settle(name, on: number, in: state.views) ? state.endOutgoing() : []
        }
        for view in ended { view.close() }
    }

    /// Passes the picture of the view's next tick to `body`, without participants who are not recorded; the engine runs
    /// until then. Returns a closure that cancels the wait. The scene must use the view.
    package func snapshot(of view: ViewID = .main, _ body: @escaping @Sendable (Picture) -> Void)
        -> @Sendable () -> Void
    {
        let number = state.withLock { state in
            state.snapshots += 1
            return state.snapshots
        }
        use(.snapshot(number), true) { $0.snapshotViews[number] = view }
        let end: @Sendable () -> Void = { [weak self] in
            self?.use(.snapshot(number), false) { $0.snapshotViews[number] = nil }
        }
        state.withLock { state in state.views[state.taps.outgoing(view, of: state.scene)] }?.snapshot { picture in
            body(picture)
            end()
        }
        return end
    }
}
