/// Reassembles fragmented messages (RFC 9260 §6.9), restores the order of ordered messages (§6.6), and counts the
/// memory that all of them hold.
///
/// The cost per chunk does not depend on how much is held. The fragments of one message have consecutive TSNs, so a
/// fragment whose neighbour was received and belongs to another message can never be completed: it is dropped at once,
/// and nothing is held that no later chunk can complete.
struct SCTPReassembly {
    /// The overhead of a held chunk or message beside its payload, in bytes: the array's header, its entries in the
    /// tables below and their slack.
    static let bookkeeping = 256
    /// The most runs of fragments with a gap before or after them. Each run needs a lost chunk: with 5 % loss a window
    /// of full chunks has 50.
    static let maximumRuns = 512

    struct Message: Equatable {
        var stream: UInt16
        var ppid: UInt32
        var payload: [UInt8]

        var cost: Int { payload.count + SCTPReassembly.bookkeeping }
    }

    /// Fragments of one message with consecutive TSNs.
    private struct Run {
        var first: UInt32
        var last: UInt32
        var begins: Bool
        var ends: Bool
        var stream: UInt16
        var ssn: UInt16
        var ppid: UInt32
        var unordered: Bool
        var bytes: Int

        init(_ data: SCTPData) {
            (first, last, begins, ends) = (data.tsn, data.tsn, data.begins, data.ends)
            (stream, ssn, ppid, unordered, bytes) = (
                data.stream, data.ssn, data.ppid, data.unordered, data.payload.count
            )
        }

        /// Whether `next`, which follows, continues the same message.
        func continues(in next: Run) -> Bool {
            !ends && !next.begins && stream == next.stream && unordered == next.unordered
                && (unordered || ssn == next.ssn)
        }
    }

    /// Ordered messages of one stream that came before their predecessors.
    private struct StreamQueue {
        var next: UInt16 = 0
        /// Their stream sequence numbers, rising from `next` on.
        var numbers: [UInt16] = []
        var messages: [UInt16: Message] = [:]
    }

    private let streams: UInt16
    private let maximumMessage: Int
    /// In the order of their TSNs.
    private var runs: [Run] = []
    private(set) var fragments: [UInt32: [UInt8]] = [:]
    private var queues: [UInt16: StreamQueue] = [:]
    /// Whole messages, in the order in which they are to be delivered.
    private var whole = Queue<Message>()
    /// Bytes of all that is held, with the overhead of holding it.
    private(set) var held = 0
    /// Chunks and messages that were dropped because they could never be completed.
    private(set) var discarded = 0

    init(streams: UInt16, maximumMessage: Int) {
        self.streams = streams
        self.maximumMessage = maximumMessage
    }

    /// The next message to deliver.
    var first: Message? { whole.first }

    mutating func takeFirst() -> Message? {
        guard let message = whole.popFirst() else { return nil }
        held -= message.cost
        return message
    }

    // MARK: - Fragments

    /// Whether the chunk is a whole message, adjoins another run, or may begin a new one.
    func hasRoom(for data: SCTPData) -> Bool {
        if runs.count < Self.maximumRuns || data.begins && data.ends { return true }
        let place = place(of: data.tsn)
        return place > 0 && runs[place - 1].last &+ 1 == data.tsn
            || place < runs.count && runs[place].first == data.tsn &+ 1
    }

    /// Takes a chunk; false if its message is longer than allowed.
    ///
    /// `isAfterReceived` and `isBeforeReceived`: whether the TSN before and the one after were received, held or not.
    mutating func add(_ data: SCTPData, isAfterReceived: Bool, isBeforeReceived: Bool) -> Bool {
        var run = Run(data)
        var isDead = data.stream >= streams
        var place = place(of: data.tsn)
        var joined = 0
        fragments[data.tsn] = data.payload
        held += data.payload.count + Self.bookkeeping
        if place > 0, runs[place - 1].last &+ 1 == data.tsn {
            let before = runs[place - 1]
            place -= 1
            if before.continues(in: run) {
                (run.first, run.begins, run.ppid) = (before.first, before.begins, before.ppid)
                run.bytes += before.bytes
                joined = 1
            } else {
                isDead = isDead || !run.begins
                // The run before can never be completed.
                if before.ends { place += 1 } else { discard(at: place) }
            }
        } else if isAfterReceived, !run.begins {
            isDead = true
        }
        if place + joined < runs.count, runs[place + joined].first == data.tsn &+ 1 {
            let after = runs[place + joined]
            if run.continues(in: after) {
                (run.last, run.ends) = (after.last, after.ends)
                run.bytes += after.bytes
                joined += 1
            } else {
                isDead = isDead || !run.ends
                if !after.begins { discard(at: place + joined) }
            }
        } else if isBeforeReceived, !run.ends {
            isDead = true
        }
        runs.replaceSubrange(place..<place + joined, with: CollectionOfOne(run))
        if isDead {
            discard(at: place)
            return true
        }
        guard run.bytes <= maximumMessage else { return false }
        if run.begins, run.ends { complete(at: place) }
        return true
    }

    /// Removes a run and returns its joined payload.
    private mutating func take(at place: Int) -> (run: Run, payload: [UInt8], chunks: Int) {
        let run = runs.remove(at: place)
        let chunks = Int(run.last &- run.first) + 1
        held -= run.bytes + chunks * Self.bookkeeping
        if run.first == run.last { return (run, fragments.removeValue(forKey: run.first) ?? [], chunks) }
        var payload: [UInt8] = []
        payload.reserveCapacity(run.bytes)
        for offset in 0..<UInt32(chunks) { payload += fragments.removeValue(forKey: run.first &+ offset) ?? [] }
        return (run, payload, chunks)
    }

    private mutating func discard(at place: Int) {
        discarded += take(at: place).chunks
    }

    private mutating func complete(at place: Int) {
        let (run, payload, _) = take(at: place)
        let message = Message(stream: run.stream, ppid: run.ppid, payload: payload)
        if run.unordered { deliver(message) } else { order(message, run.ssn) }
    }

    /// The index of the first run after `tsn`.
    private func place(of tsn: UInt32) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if serialLess(tsn, runs[middle].first) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    // MARK: - Order

    private mutating func deliver(_ message: Message) {
        held += message.cost
        whole.append(message)
    }

    private mutating func order(_ message: Message, _ ssn: UInt16) {
        var queue = queues.removeValue(forKey: message.stream) ?? StreamQueue()
        defer { queues[message.stream] = queue }
        let distance = Int16(bitPattern: ssn &- queue.next)
        if distance == 0 {
            deliver(message)
            queue.next &+= 1
            deliverNext(&queue)
        } else if distance > 0, queue.messages[ssn] == nil {
            held += message.cost
            queue.messages[ssn] = message
            var (low, high) = (0, queue.numbers.count)
            while low < high {
                let middle = (low + high) / 2
                if queue.numbers[middle] &- queue.next < ssn &- queue.next { low = middle + 1 } else { high = middle }
            }
            queue.numbers.insert(ssn, at: low)
        } else {
            // Its number has passed, or another message has it.
            discarded += 1
        }
    }

    private mutating func deliverNext(_ queue: inout StreamQueue) {
        var count = 0
        while count < queue.numbers.count, queue.numbers[count] == queue.next {
            pass(queue.numbers[count], &queue)
            queue.next &+= 1
            count += 1
        }
        if count > 0 { queue.numbers.removeFirst(count) }
    }

    private mutating func pass(_ ssn: UInt16, _ queue: inout StreamQueue) {
        guard let message = queue.messages.removeValue(forKey: ssn) else { return }
        held -= message.cost
        deliver(message)
    }

    // MARK: - Abandoned by the sender

    /// Drops what cannot be completed: nothing up to `tsn` will come any more (RFC 3758 §3.6).
    mutating func forward(to tsn: UInt32, _ skips: [SCTPSkip]) {
        while let run = runs.first, !serialLess(tsn, run.first) || run.first == tsn &+ 1 && !run.begins {
            discard(at: 0)
        }
        for skip in skips where skip.stream < streams {
            var queue = queues.removeValue(forKey: skip.stream) ?? StreamQueue()
            defer { queues[skip.stream] = queue }
            guard Int16(bitPattern: skip.ssn &- queue.next) >= 0 else { continue }
            // Whole messages below the skipped number are still delivered.
            var count = 0
            while count < queue.numbers.count, Int16(bitPattern: queue.numbers[count] &- skip.ssn) <= 0 {
                pass(queue.numbers[count], &queue)
                count += 1
            }
            if count > 0 { queue.numbers.removeFirst(count) }
            queue.next = skip.ssn &+ 1
            deliverNext(&queue)
        }
    }

    /// Resets these streams for the peer (RFC 6525 §5.2.2), all of them if none is named: messages that wait on them
    /// are dropped.
    mutating func reset(_ streams: [UInt16]) {
        for stream in streams.isEmpty ? Array(queues.keys) : streams {
            guard let queue = queues.removeValue(forKey: stream) else { continue }
            for message in queue.messages.values { held -= message.cost }
            discarded += queue.messages.count
        }
    }

    /// Whether whole messages wait to be delivered.
    var hasUndelivered: Bool { !whole.isEmpty }

    /// Drops everything: the association has ended.
    mutating func removeAll() {
        runs = []
        fragments = [:]
        queues = [:]
        whole.removeAll()
        held = 0
    }
}
