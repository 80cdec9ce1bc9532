import Basics
import FoundationEssentials
import Peer
import Threads

/// One headless participant: performs what its session decides, with signalling on one side and the fleet's media on the
/// other.
final class Participant {
    private enum Input: Sendable {
        case opened(Int, SignallingClient.Sender)
        case message(Int, SignallingClient.Message)
        case closed(Int, String?)
        case ended(leg: Int, String)
        case connected(leg: Int)
        case tick
    }

    /// Twice a frame's time: a move's gap is not made longer by it.
    private static let tick = Duration.milliseconds(50)

    private let number: Int
    private let options: CallOptions
    private let fleet: Fleet
    private let address: SignallingAddress
    private let report: @Sendable (String) -> Void
    private let note: @Sendable (String) -> Void
    private let name: String

    private let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation
    private let changeover = Guarded(Changeover())
    private var session = CallSession(at: MonotonicClock.now())
    private var senders: [Int: SignallingClient.Sender] = [:]
    private var tasks: [Int: Task<Void, Never>] = [:]
    /// The leg of each attachment, for its answer.
    private var legs: [Int: Int] = [:]
    /// What each attachment with a leg was told about what is sent.
    private var told: [Int: SourceActivity.Sent] = [:]
    /// The legs that have not been closed.
    private var openLegs: Set<Int> = []
    /// What still says goodbye.
    private var leaving: [Task<Void, Never>] = []
    /// The people by attachment, and as they were reported last.
    private var rooms: [Int: RoomPeople] = [:]
    private var people: RoomPeople?
    private var endsAt: Instant?
    private var hasConnected = false

    init(
        number: Int, options: CallOptions, fleet: Fleet, address: SignallingAddress,
        report: @escaping @Sendable (String) -> Void, note: @escaping @Sendable (String) -> Void
    ) {
        self.number = number
        self.options = options
        self.fleet = fleet
        self.address = address
        self.report = report
        self.note = note
        name = options.count == 1 ? options.name : "\(options.name) \(number + 1)"
        (inputs, input) = AsyncStream.makeStream(of: Input.self)
    }

    func run() async throws {
        let saver = try savePath.map { try CallSaver(file: $0) }
        do {
            try await stay(saver)
        } catch {
            // However the call ended, the received media becomes a proper file.
            try? await close(saver)
            throw error
        }
        try await close(saver)
    }

    private func close(_ saver: CallSaver?) async throws {
        guard let saver else { return }
        let summary = try await saver.finish()
        report("\(name): saved \(summary)")
    }

    private var savePath: String? {
        guard let path = options.save, options.count > 1 else { return options.save }
        let url = URL(fileURLWithPath: path)
        return url.deletingPathExtension().path + "-\(number + 1)."
            + (url.pathExtension.isEmpty ? "mp4" : url.pathExtension)
    }

    /// Stays in the call until its time is over, it fails, or the task is cancelled.
    private func stay(_ saver: CallSaver?) async throws {
        let ticker = Self.ticker(input)
        defer { ticker.cancel() }
        var result: Result<Void, any Error>?
        do {
            result = try await perform(session.start(), saver)
            for await one in inputs {
                if result != nil { break }
                result = try await perform(handle(one, at: MonotonicClock.now()), saver)
                if result == nil, let endsAt, MonotonicClock.now() >= endsAt { result = .success(()) }
                if result != nil { break }
            }
        } catch {
            result = .failure(error)
        }
        for leg in openLegs { fleet.close(key(leg)) }
        _ = try? await perform(session.stop(), saver)
        for task in tasks.values { task.cancel() }
        for task in leaving { await task.value }
        // An interrupt ends the stream of inputs.
        try result?.get() ?? Task.checkCancellation()
    }

    private static func ticker(_ input: AsyncStream<Input>.Continuation) -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: tick)
                input.yield(.tick)
            }
        }
    }

    // MARK: Inputs

    private func handle(_ input: Input, at now: Instant) async throws -> [CallSession.Action] {
        switch input {
        case .opened(let attachment, let sender):
            senders[attachment] = sender
            return []
        case .message(let attachment, let message):
            guard tasks[attachment] != nil else { return [] }
            session.heard(attachment, at: now)
            return try await handle(message, of: attachment, at: now)
        case .closed(let attachment, let why):
            guard tasks[attachment] != nil else { return [] }
            return session.closed(attachment, why, at: now)
        case .ended(let leg, let why): return session.ended(leg: leg, why, at: now)
        case .connected(let leg):
            if !hasConnected { report("\(name): connected") }
            hasConnected = true
            note("\(name): connection \(leg) is there")
            return []
        case .tick:
            await tellWhatIsSent(at: now)
            let (media, new) = changeover.withLock { ($0.latest, $0.newConnection(at: now)) }
            let flowing = new.map { session.flowing(leg: $0.number, $0.gaps, at: now) } ?? []
            return flowing + session.advance(to: now, media: media)
        }
    }

    private func handle(
        _ message: SignallingClient.Message, of attachment: Int, at now: Instant
    ) async throws -> [CallSession.Action] {
        switch message {
        case .joined(let ticket, let isFresh, let update):
            if endsAt == nil, let duration = options.duration { endsAt = now + duration }
            rooms[attachment] = people ?? RoomPeople(own: ticket.id)
            rooms[attachment]?.own = ticket.id
            announce(update, of: attachment)
            return session.joined(attachment, ticket, isFresh: isFresh, at: now)
        case .answer(let sdp):
            if let leg = legs[attachment] { try await fleet.accept(answer: sdp, for: key(leg)) }
            return []
        case .waiting: return session.waits(attachment)
        case .people(let update):
            announce(update, of: attachment)
            return []
        case .moving(let within): return session.moving(attachment, within: within, at: now)
        case .left(let reason): return session.left(attachment, reason, at: now)
        case .error(let code, let text, let isFatal, let retryAfter):
            return session.refused(
                attachment, code: code, text, isFatal: isFatal, retryAfter: retryAfter, at: now)
        case .other: return []
        }
    }

    /// Only the first participant of a fleet reports who is in the room; in a move, by the server that it leaves. Each
    /// reports what the server does not get from it.
    private func announce(_ update: RoomPeople.Update, of attachment: Int) {
        let lines = rooms[attachment]?.apply(update) ?? []
        guard session.isCurrent(attachment) else { return }
        for line in rooms[attachment]?.missing(since: people) ?? [] { report("\(name): \(line)") }
        people = rooms[attachment]
        for line in lines where number == 0 { report("\(name): \(line)") }
    }

    // MARK: Actions

    /// Returns the result of the call where it is over.
    private func perform(_ actions: [CallSession.Action], _ saver: CallSaver?) async throws -> Result<Void, any Error>?
    {
        for action in actions {
            switch action {
            case .open(let attachment, let ticket): open(attachment, ticket)
            case .offer(let attachment, let leg): try await offer(attachment, leg, saver)
            case .tellState(let attachment): await tellState(attachment, fleet.sent(at: MonotonicClock.now()))
            case .ping(let attachment): await send(attachment, ["type": "ping"])
            case .leave(let attachment): close(attachment, leaving: true)
            case .drop(let attachment): close(attachment, leaving: false)
            case .close(let leg):
                openLegs.remove(leg)
                fleet.close(key(leg))
            case .say(let words): report("\(name): \(words)")
            case .note(let words): note("\(name): \(words)")
            case .end(let failure):
                guard let failure else { return .success(()) }
                return .failure(CallError("\(name): \(failure)"))
            }
        }
        return nil
    }

    /// The fleet's number of a leg: no other participant's.
    private func key(_ leg: Int) -> Int { number + (leg - 1) * 1000 }

    /// The message with which a participant asks for its seat.
    static func join(_ options: CallOptions, name: String, _ ticket: CallSession.Ticket?) -> [String: any Sendable] {
        // A load test is nobody's host, though it may be first.
        var join: [String: any Sendable] = [
            "type": "join", "room": options.room, "name": name, "deltas": true, "host": false,
        ]
        if let token = options.token { join["token"] = token }
        if let pin = options.pin { join["pin"] = pin }
        if let ticket { join["resume"] = ["id": ticket.id, "secret": ticket.secret] }
        return join
    }

    private func open(_ attachment: Int, _ ticket: CallSession.Ticket?) {
        let join = Self.join(options, name: name, ticket)
        tasks[attachment] = Task { [address, input, join] in
            do {
                try await SignallingClient.withConnection(to: address, decode: SignallingClient.Message.init(json:)) {
                    messages, sender in
                    input.yield(.opened(attachment, sender))
                    try await sender.send(join)
                    for await message in messages { input.yield(.message(attachment, message)) }
                }
                input.yield(.closed(attachment, nil))
            } catch {
                input.yield(.closed(attachment, "\(error)"))
            }
        }
    }

    private func offer(_ attachment: Int, _ leg: Int, _ saver: CallSaver?) async throws {
        legs[attachment] = leg
        openLegs.insert(leg)
        let offer = try await fleet.offer(key(leg), codec: options.codec, hasOwnIdentity: leg > 1) {
            [input, changeover] event in
            switch event {
            case .connected: input.yield(.connected(leg: leg))
            case .video(let frame):
                let isTaken = changeover.withLock {
                    $0.frame(of: leg, isKeyframe: frame.frame.isKeyframe, at: frame.arrival)
                }
                if isTaken { saver?.append(frame) }
            case .audio(let packet):
                let (isTaken, isFirst) = changeover.withLock { $0.packet(of: leg, at: packet.arrival) }
                if isTaken { saver?.append(packet, isFirst: isFirst) }
            case .ended(let reason): input.yield(.ended(leg: leg, reason))
            }
        }
        await send(attachment, ["type": "offer", "sdp": offer])
        await tellState(attachment, fleet.sent(at: MonotonicClock.now()))
    }

    /// Tells the servers where the source has begun or ceased to give audio or video.
    private func tellWhatIsSent(at now: Instant) async {
        let sent = fleet.sent(at: now)
        for (attachment, before) in told where before != sent { await tellState(attachment, sent) }
    }

    private func tellState(_ attachment: Int, _ sent: SourceActivity.Sent) async {
        told[attachment] = sent
        await send(attachment, ["type": "state", "audio": sent.audio, "video": sent.video, "hand": false])
    }

    /// A connection that ends tells so itself.
    private func send(_ attachment: Int, _ message: [String: any Sendable]) async {
        try? await senders[attachment]?.send(message)
    }

    private func close(_ attachment: Int, leaving: Bool) {
        guard let task = tasks.removeValue(forKey: attachment) else { return }
        (legs[attachment], told[attachment]) = (nil, nil)
        rooms[attachment] = nil
        let sender = senders.removeValue(forKey: attachment)
        guard leaving, let sender else { return task.cancel() }
        self.leaving.append(
            Task {
                try? await sender.send(["type": "leave"])
                task.cancel()
                await task.value
            })
    }
}
