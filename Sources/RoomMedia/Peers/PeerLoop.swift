package import Basics
package import Peer
package import Sockets
import Synchronization
import Threads

/// The owner of each user name fragment, for all loops: a check may come to any of them.
package typealias LoopUfrags = UfragTable<PeerID>

/// The peer connections of one loop: routes datagrams to them, keeps their deadlines, and carries their media and
/// events to the rooms and back.
///
/// The system chooses the loop that reads a flow; the peer may be on another loop (`DatagramRouter`). A peer's claim on a
/// flow goes back to the loop that reads the flow.
///
/// `@unchecked Sendable`: all state is touched on the loop's thread only; other threads use `execute`.
package final class PeerLoop: MediaLoopDelegate, @unchecked Sendable {
    private static let linkPeriod = Duration.seconds(1)
    /// The later cost of a relayed message for each receiver: encryption and the system call.
    private static let relayedSend = Duration.microseconds(10)
    /// Bytes of datagrams from other loops that may wait for this one; more are dropped, as by a full socket.
    private static let mostHandedOver = 8 << 20
    package unowned let loop: MediaLoop
    /// The loop's number in the server.
    let index: Int
    private let others: PeerLoopTable
    private let events: PeerLoopEvents
    private let meters: StageMeters
    private var peers = HostedPeers()
    private var router: DatagramRouter
    private let handedOver = Atomic<Int>(0)
    private var deadlines = DeadlineQueue<PeerSession>()
    /// The time of each peer's next link report.
    private var reports = DeadlineQueue<PeerSession>()
    private var dirty: [PeerSession] = []
    private var ceiling = 0
    private var charges = TurnCharges()
    /// Counts of all peers together, for the metrics.
    package let counters = HostCounters()
    package let turns = LoopTurns()

    init(
        loop: MediaLoop, index: Int, others: PeerLoopTable, ufrags: LoopUfrags, events: PeerLoopEvents,
        meters: StageMeters
    ) {
        self.loop = loop
        self.index = index
        self.others = others
        router = DatagramRouter(ufrags: ufrags)
        self.events = events
        self.meters = meters
    }

    /// Runs `body` on the loop, in the order of the calls. Called on any thread; never blocks.
    func execute(_ body: @escaping @Sendable (PeerLoop, Instant) -> Void) {
        loop.execute { [self] in body(self, MonotonicClock.now()) }
    }

    package func seat(_ id: String) -> PeerSession? { peers[id] }

    /// A new identity for a peer that is about to be created.
    package func makeSeatID() -> PeerID { PeerID(loop: index, number: peers.makeNumber()) }

    package func add(_ seat: PeerSession, at now: Instant) {
        peers.add(seat)
        _ = seat.selector.setCeiling(ceiling)
        // Another peer of a participant whose frames go to others is asked for as much as the one before.
        seat.receiveLimits.forwarded = seat.engine.forwardLimits(of: seat.id)
        reports.set(seat, now + Self.linkPeriod)
        updateUfrags(seat)
    }

    /// Closes the peer's connection and removes the peer. Its last datagrams leave in the same turn.
    package func remove(_ id: String, at now: Instant) {
        guard let seat = peers.remove(id) else { return }
        deadlines.set(seat, nil)
        reports.set(seat, nil)
        let statistics = seat.peer.statistics(at: now)
        noteFaults(seat, statistics)
        seat.engine.quality.add(seat.meter.count(statistics))
        seat.leaveRenditions()
        seat.endAudio()
        seat.peer.close(at: now)
        flush(seat)
        router.remove(seat.seatID)
        for reader in seat.readers {
            others[reader]?.execute { [id = seat.seatID] host, _ in host.router.remove(id) }
        }
    }

    // MARK: - Datagrams

    package func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        counters.bytesReceived.wrappingAdd(datagram.count, ordering: .relaxed)
        dispatch(datagram, flow, at: now)
    }

    private func dispatch(_ datagram: UnsafeMutableRawBufferPointer, _ flow: Flow, at now: Instant) {
        let bytes = UnsafeRawBufferPointer(datagram)
        if let id = router.claimant(of: bytes, flow: flow) { give(datagram, flow, to: id, at: now) }
        if let id = router.owner(of: bytes, flow: flow) { give(datagram, flow, to: id, at: now) }
    }

    private func give(_ datagram: UnsafeMutableRawBufferPointer, _ flow: Flow, to id: PeerID, at now: Instant) {
        if id.loop == index {
            if let seat = peers[id.number] { take(datagram, flow, from: index, for: seat, at: now) }
            return
        }
        // A TCP connection moves to its peer's loop.
        if flow.transport == .tcp, !router.isOwned(flow), let other = others[id.loop] {
            loop.move(flow, to: other.loop)
        }
        router.keep(UnsafeRawBufferPointer(datagram), flow, for: id, at: now)
    }

    /// - Parameter reader: the loop that read the datagram.
    private func take(
        _ datagram: UnsafeMutableRawBufferPointer, _ flow: Flow, from reader: Int, for seat: PeerSession,
        at now: Instant
    ) {
        let isCheck = DatagramKind(UnsafeRawBufferPointer(datagram)) == .stun
        guard seat.loopBudget.admit(isCheck: isCheck, turn: charges.turn, at: now) else { return }
        let took = charging(seat) { seat.peer.receive(datagram, flow: flow, at: now) }
        seat.loopBudget.noteTurnTime(took)
        touch(seat)
        let claim = seat.peer.latestClaim
        guard claim != .none else { return }
        if reader == index { return settle(claim, on: flow, by: seat.seatID) }
        seat.readers.insert(reader)
        others[reader]?.execute { [id = seat.seatID] host, _ in host.settle(claim, on: flow, by: id) }
    }

    /// Settles the claim of a peer of any loop on a flow that this loop reads.
    private func settle(_ claim: FlowClaim, on flow: Flow, by id: PeerID) {
        let isOurs = router.settle(claim, on: flow, by: id) { owner in
            // A peer on another loop cannot be asked here, so its flow counts as validated: the claimant has to answer
            // a check.
            owner.loop == index ? peers[owner.number]?.peer.isValidated(flow) ?? false : true
        }
        if isOurs { loop.claim(flow) }
    }

    /// Hands the other loops their datagrams.
    private func handOver() {
        for (loop, parcel) in router.takeParcels() {
            counters.handedOver.wrappingAdd(parcel.count, ordering: .relaxed)
            others[loop]?.accept(parcel, from: index)
        }
    }

    /// Takes the datagrams that another loop read. Called on any thread.
    private func accept(_ parcel: DatagramParcel, from reader: Int) {
        let size = parcel.size
        guard handedOver.wrappingAdd(size, ordering: .relaxed).newValue <= Self.mostHandedOver else {
            handedOver.wrappingSubtract(size, ordering: .relaxed)
            counters.droppedInHandover.wrappingAdd(parcel.count, ordering: .relaxed)
            return
        }
        execute { host, _ in
            host.handedOver.wrappingSubtract(size, ordering: .relaxed)
            parcel.open { datagram, flow, number, arrival in
                if flow.transport == .tcp {
                    // The connection moves to this loop, which routes its datagrams from here on.
                    host.dispatch(datagram, flow, at: arrival)
                } else if let seat = host.peers[number] {
                    host.take(datagram, flow, from: reader, for: seat, at: arrival)
                }
            }
        }
    }

    // MARK: - The loop

    package func advance(to now: Instant) -> Instant? {
        handOver()
        while let seat = deadlines.takeDue(at: now) {
            charging(seat) { seat.peer.advance(to: now) }
            touch(seat)
        }
        // Handling one peer's events may touch others.
        while !dirty.isEmpty {
            let batch = dirty
            dirty.removeAll(keepingCapacity: true)
            for seat in batch {
                seat.isDirty = false
                charging(seat) {
                    drain(seat, at: now)
                    flush(seat)
                }
                if peers.contains(seat) { deadlines.set(seat, seat.peer.nextDeadline(after: now)) }
            }
        }
        while let seat = reports.takeDue(at: now) {
            report(seat, at: now)
            reports.set(seat, now + Self.linkPeriod)
        }
        return [deadlines.next, reports.next].compactMap { $0 }.min()
    }

    package func closed(_ flow: Flow) {
        // A connection without an owner is charged to nobody.
        guard let id = router.remove(flow) else { return }
        let now = MonotonicClock.now()
        if id.loop == index {
            ended(flow, of: id, at: now)
        } else {
            others[id.loop]?.execute { $0.ended(flow, of: id, at: $1) }
        }
    }

    private func ended(_ flow: Flow, of id: PeerID, at now: Instant) {
        guard let seat = peers[id.number] else { return }
        seat.peer.removeFlow(flow, at: now)
        touch(seat)
    }

    package func turnEnded(since start: Instant) {
        let now = MonotonicClock.now()
        let wall = now - start
        let (processor, exhausted) = charges.endTurn(after: wall, at: now)
        turns.took(wall, processor: processor, at: now)
        // The meter counts the thread's whole processor time, since system calls and decryption happen outside of this
        // type.
        meters.network.add(processor)
        for seat in exhausted {
            end(seat, .overBudget, "it made the network loop work for longer than one peer may", at: now)
        }
    }

    // MARK: - Costs

    /// Runs `body`, charges its time to the peer, and returns that time.
    @discardableResult
    package func charging(_ seat: PeerSession, _ body: () -> Void) -> Duration {
        let start = MonotonicClock.now()
        body()
        let took = MonotonicClock.now() - start
        charges.add(took, to: seat)
        return took
    }

    /// Marks the peer for the end of this turn: it has events to handle or datagrams to send.
    package func touch(_ seat: PeerSession) {
        guard !seat.isDirty else { return }
        seat.isDirty = true
        dirty.append(seat)
    }

    private func flush(_ seat: PeerSession) {
        seat.peer.flush { bytes, flow in
            counters.bytesSent.wrappingAdd(bytes.count, ordering: .relaxed)
            loop.send(bytes, flow: flow)
        }
        // Frames leave in order: once nothing waits, all of them have left.
        if !seat.leaving.isEmpty, seat.peer.queuedVideoBytes == 0 {
            let now = MonotonicClock.now()
            meters.delays.left(seat.leaving, at: now)
            seat.engine.quality.left(seat.leaving, at: now)
            seat.leaving.removeAll(keepingCapacity: true)
        }
    }

    package func updateUfrags(_ seat: PeerSession) { router.setUfrags(seat.peer.localUfrags, of: seat.seatID) }

    // MARK: - Events of peers

    private func drain(_ seat: PeerSession, at now: Instant) {
        while let event = seat.peer.nextEvent() { handle(event, of: seat, at: now) }
    }

    private func handle(_ event: PeerEvent, of seat: PeerSession, at now: Instant) {
        switch event {
        case .connected, .recovered: connect(seat, at: now)
        case .interrupted(let since): disconnect(seat, since: since)
        case .failed(let why): end(seat, .failed, why, at: now)
        case .closed: end(seat, .left, nil, at: now)
        case .overBudget(let why): end(seat, .overBudget, why, at: now)
        case .video(let frame):
            if seat.intake.video.receive(frame) {
                seat.peer.requestKeyframe(at: now)
            }
        case .screen(let frame):
            if seat.intake.screen.receive(frame) {
                seat.peer.requestKeyframe(of: .screen, at: now)
            }
        case .audio(let packet):
            // A copy says nothing of its level.
            if !packet.isCopy { seat.arrivals.heard(level: packet.level) }
            seat.intake.receive(packet)
        case .keyframeRequested(let requester): seat.repairPicture(for: requester, at: now)
        case .estimate(let estimate, let loss, let roundTrip):
            if seat.take(estimate: estimate, loss: loss, roundTrip: roundTrip, at: now) {
                reportLink(seat, at: now, elapsed: nil)
            }
        case .channelOpened(let channel, let label, let byRemote):
            seat.channels.add(channel, label: label, byPeer: byRemote)
        case .channelClosed(let channel): seat.channels.remove(channel)
        case .message(_, let label, let message):
            let content: RelayedMessage.Content =
                switch message {
                case .text(let text): .text(text)
                case .binary(let bytes): .binary(bytes)
                }
            guard seat.maySendMessages else {
                counters.refusedMessages.wrappingAdd(1, ordering: .relaxed)
                return
            }
            let relayed = RelayedMessage(from: seat.id, label: label, content: content, group: seat.group)
            relay(relayed, in: seat.engine, at: now)
            if label == seat.chatChannel { events.chat(seat.engine.id, relayed) }
        case .ufragsChanged: updateUfrags(seat)
        }
    }

    /// The connection is over for good.
    private func end(_ seat: PeerSession, _ reason: PeerEnd, _ why: String?, at now: Instant) {
        disconnect(seat, since: now)
        guard peers.contains(seat) else { return }
        remove(seat.id, at: now)
        if reason == .overBudget { counters.endedOverBudget.wrappingAdd(1, ordering: .relaxed) }
        events.ended(seat.id, reason, why)
    }

    private func connect(_ seat: PeerSession, at now: Instant) {
        guard !seat.isConnected else { return }
        seat.isConnected = true
        negotiated(seat, at: now)
        for label in seat.opensChannels where !seat.channels.hasOurs(label) {
            seat.peer.openChannel(label: label, at: now)
        }
        if seat.intake.video.isShown { seat.peer.requestKeyframe(at: now) }
        if seat.intake.screen.isShown { seat.peer.requestKeyframe(of: .screen, at: now) }
        events.media(seat.id, true, now)
    }

    private func disconnect(_ seat: PeerSession, since: Instant) {
        guard seat.isConnected else { return }
        seat.isConnected = false
        seat.intake.link.set(roundTrip: .zero, estimate: .zero)
        seat.arrivals.interrupt()
        reportMissing(seat)
        seat.leaveRenditions()
        seat.endAudio()
        events.media(seat.id, false, since)
    }

    /// After each offer and answer: the peer may take another format than before, or none.
    package func negotiated(_ seat: PeerSession, at now: Instant) {
        let formats = seat.peer.sendsVideo ? seat.peer.videoSendFormats : []
        seat.take(formats)
        if seat.isConnected { seat.updateAudio() }
        seat.choose(at: now)
        touch(seat)
    }

    // MARK: - From rooms to peers

    /// Sends a frame of a rendition to all peers of this loop that take it.
    package func deliver(_ key: RenditionKey, _ frame: PacketizedVideoFrame, _ trace: PictureTrace, at now: Instant) {
        for seat in peers.inRoom(key.room) where seat.accept(key, isKeyframe: frame.isKeyframe, at: now) {
            seat.peer.send(frame, at: now)
            seat.follow(trace)
            touch(seat)
        }
    }

    package func deliver(_ packets: [AudioDelivery], at now: Instant) {
        for packet in packets {
            guard let seat = peers[packet.seat.number], seat.isConnected else { continue }
            seat.peer.send(
                audio: packet.payload, timestamp: packet.timestamp, marker: false, level: packet.level, at: now)
            touch(seat)
        }
    }

    /// Relays a data channel message to everyone else in the sender's group, on this loop and the others.
    func relay(_ message: RelayedMessage, in room: RoomEngine, at now: Instant) {
        let receivers = messages.relay(message, to: peers.inRoom(room.id), at: now)
        // The sender is charged for the sends that follow.
        if let sender = peers[message.from] { charges.add(Self.relayedSend * receivers, to: sender) }
        for loop in room.loops where loop != index {
            others[loop]?.execute { [index, others] host, now in
                let receivers = host.messages.relay(message, to: host.peers.inRoom(room.id), at: now)
                others[index]?.execute { host, _ in
                    if let sender = host.peers[message.from] {
                        host.charges.add(Self.relayedSend * receivers, to: sender)
                    }
                }
            }
        }
    }

    /// Sends a chat message to the peers of the room on this loop that chat by data channel.
    func send(_ message: ChannelMessage, in room: String, at now: Instant) {
        messages.send(message, to: peers.inRoom(room), at: now)
    }

    private var messages: MessageRelay { MessageRelay(counters: counters) { [unowned self] in touch($0) } }

    /// Sets whether a participant's messages go to the rest of the room.
    package func setMaySendMessages(_ id: String, _ maySendMessages: Bool) {
        peers[id]?.maySendMessages = maySendMessages
    }

    /// Sets what a participant says to send.
    package func setClaims(_ id: String, _ claims: MediaKinds) {
        guard let seat = peers[id] else { return }
        seat.arrivals.claim(claims)
        reportMissing(seat)
    }

    private func reportMissing(_ seat: PeerSession) {
        if let missing = seat.arrivals.report() { events.missing(seat.id, missing) }
    }

    package func requestKeyframe(from id: String, of source: VideoSource, at now: Instant) {
        guard let seat = peers[id], seat.isConnected else { return }
        seat.peer.requestKeyframe(of: source, at: now)
        touch(seat)
    }

    /// Asks a sender for at most the bit rates of its pictures together, and for their simulcast layers of these
    /// heights.
    package func setReceiveLimits(_ limits: SenderLimits, of id: String, at now: Instant) {
        guard let seat = peers[id] else { return }
        seat.receiveLimits.tiles = limits
        applyReceiveLimits(seat, at: now)
        seat.peer.setWantedLayer(height: limits.camera.height, at: now)
        seat.peer.setWantedLayer(height: limits.screen.height, of: .screen, at: now)
        touch(seat)
    }

    /// Asks a sender for at most this bit rate of a picture that goes to others as it comes; nil: for what its tiles need.
    package func setForwardLimit(_ limit: BitRate?, of id: String, _ source: VideoSource, at now: Instant) {
        guard let seat = peers[id] else { return }
        seat.receiveLimits.forwarded[source] = limit
        applyReceiveLimits(seat, at: now)
        touch(seat)
    }

    private func applyReceiveLimits(_ seat: PeerSession, at now: Instant) {
        if let rate = seat.receiveLimits.rate { seat.peer.setReceiveLimit(rate, at: now) }
    }

    /// All peers of the room choose their rendition again.
    package func refresh(_ room: String, at now: Instant) {
        for seat in peers.inRoom(room) {
            seat.refresh(at: now)
            touch(seat)
        }
    }

    /// Sets the highest rung during an overload; each peer follows with its next link report.
    package func setCeiling(_ rung: Int) { ceiling = rung }

    private func applyCeiling(_ seat: PeerSession, at now: Instant) {
        let change = seat.selector.setCeiling(seat.ceiling(ceiling))
        seat.selector.explain(at: now)
        guard change != nil || seat.changesCodec(at: now) || seat.changesForwarding(at: now) else { return }
        seat.choose(at: now)
        touch(seat)
    }

    // MARK: - Links

    /// Reports once a second for each peer, at the phase of the second in which it joined.
    private func report(_ seat: PeerSession, at now: Instant) {
        // Each second, since a recording may have begun or ended, and a choice have stood for long enough.
        applyCeiling(seat, at: now)
        if seat.isConnected { reportLink(seat, at: now, elapsed: Self.linkPeriod) }
    }

    /// Adds the peer's new faults to the counters of all peers.
    private func noteFaults(_ seat: PeerSession, _ statistics: PeerStatistics) {
        let faults = PeerFaults(statistics, overLoopBudget: seat.loopBudget.dropped)
        counters.add(faults, since: seat.lastFaults)
        seat.lastFaults = faults
    }

    /// - Parameter elapsed: the time since the last regular report; nil for a report between two.
    private func reportLink(_ seat: PeerSession, at now: Instant, elapsed: Duration?) {
        if let elapsed {
            let statistics = seat.peer.statistics(at: now)
            noteFaults(seat, statistics)
            seat.engine.quality.add(seat.meter.measure(statistics, over: elapsed))
            seat.intake.link.set(
                roundTrip: statistics.roundTrip ?? .zero, estimate: seat.estimate ?? statistics.estimate)
            seat.arrivals.measure(
                audio: statistics.audioReceived.packets, video: statistics.videoReceived.packets,
                all: statistics.srtp.unprotected, over: elapsed)
            reportMissing(seat)
        }
        if let link = seat.reportedLink() { events.link(seat.id, link) }
    }
}
