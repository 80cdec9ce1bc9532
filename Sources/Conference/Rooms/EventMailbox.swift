import Basics
import RoomMedia
import Synchronization

/// The events that wait for one participant's endpoint. Of each kind of state only the newest event waits; messages are
/// bounded, and beyond the bound the oldest is dropped and counted.
final class EventMailbox: Sendable {
    /// The most waiting chat messages …
    static let limit = 256
    /// … and their bytes.
    static let byteLimit = 1 << 20

    private struct State {
        var events: [SharedEvent] = []
        var messages = 0
        var bytes = 0
        var isScheduled = false
    }

    private let state = Guarded(State())
    private let deliver: @Sendable (SharedEvent) -> Void
    private let counters: EventCounters

    init(counters: EventCounters, deliver: @escaping @Sendable (SharedEvent) -> Void) {
        self.counters = counters
        self.deliver = deliver
    }

    /// Adds an event. Returns whether `run` must be scheduled.
    func put(_ shared: SharedEvent) -> Bool {
        let event = shared.event
        return state.withLock { state in
            if let kind = event.stateKind, let old = state.events.lastIndex(where: { $0.event.stateKind == kind }) {
                state.events.remove(at: old)
                counters.replaced.wrappingAdd(1, ordering: .relaxed)
            }
            state.events.append(shared)
            if event.isMessage {
                state.messages += 1
                state.bytes += event.messageBytes
                dropOldest(&state)
            }
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
    }

    private func dropOldest(_ state: inout State) {
        while state.messages > 1, state.messages > Self.limit || state.bytes > Self.byteLimit,
            let oldest = state.events.firstIndex(where: \.event.isMessage)
        {
            let gone = state.events.remove(at: oldest)
            state.messages -= 1
            state.bytes -= gone.event.messageBytes
            counters.dropped.wrappingAdd(1, ordering: .relaxed)
        }
    }

    /// Delivers the waiting events. Returns whether more came meanwhile, so that `run` must be scheduled again.
    func run() -> Bool {
        let events = state.withLock { state in
            defer { (state.events, state.messages, state.bytes) = ([], 0, 0) }
            return state.events
        }
        for event in events { deliver(event) }
        return state.withLock { state in
            state.isScheduled = !state.events.isEmpty
            return state.isScheduled
        }
    }
}

/// Counts of all mailboxes, for the metrics.
final class EventCounters: Sendable {
    /// Messages that were dropped since too many waited.
    let dropped = Atomic<Int>(0)
    /// States that a newer one replaced before their delivery.
    let replaced = Atomic<Int>(0)
}

extension ParticipantEvent {
    fileprivate enum StateKind {
        case participants, tiles, speaker, layout, recording, streaming, role, access, waiting, link, connection,
            breakout
    }

    /// The state that the event reports; nil: the event reports an occurrence.
    fileprivate var stateKind: StateKind? {
        switch self {
        case .participants: .participants
        case .tiles: .tiles
        case .speaker: .speaker
        case .layout: .layout
        case .recording: .recording
        case .streaming: .streaming
        case .role: .role
        case .access: .access
        case .breakout: .breakout
        case .waiting: .waiting
        case .link: .link
        case .connection: .connection
        case .chat, .left, .error, .muted, .keptMuted, .asked, .moving, .pinTries: nil
        }
    }

    fileprivate var isMessage: Bool {
        if case .chat = self { true } else { false }
    }

    fileprivate var messageBytes: Int {
        if case .chat(let chat) = self { chat.text.utf8.count } else { 0 }
    }
}
