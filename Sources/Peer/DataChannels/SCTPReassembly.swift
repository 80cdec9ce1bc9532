/// Puts the fragments of messages together (RFC 9260 §6.9), ordered messages into their order (§6.6), and says what all
/// that is held costs.
///
/// A chunk costs the same whatever is held. The fragments of one message have TSNs in a row, so a fragment whose
/// neighbour was received and belongs to something else can never become a message: it is dropped at once, and nothing
/// is held that no later chunk can complete.
struct SCTPReassembly {
    /// What a held chunk or message costs beside its payload, in bytes: the array's head, its entries in the tables
    /// below and their slack.
    static let bookkeeping = 256
    /// Parts of messages with a hole before or behind them. Each needs a lost chunk: with 5 % loss a window of full
    /// chunks has 50.
    static let maximumRuns = 512

    struct Message: Equatable {
        var stream: UInt16
        var ppid: UInt32
        var payload: [UInt8]

        var cost: Int { payload.count + SCTPReassembly.bookkeeping }
    }

    /// Fragments of one message with TSNs in a row.
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

        /// Whether `next`, which follows, is more of the same message.
        func continues(in next: Run) -> Bool {
            !ends && !next.begins && stream == next.stream && unordered == next.unordered
                && (unordered || ssn == next.ssn)
        }
    }

    /// Ordered messages of one stream that came before their turn.
    private struct Line {
        var next: UInt16 = 0
        /// Their numbers, rising from `next` on.
        var numbers: [UInt16] = []
        var messages: [UInt16: Message] = [:]
    }

    private let streams: UInt16
    private let maximumMessage: Int
    /// In the order of their TSNs.
    private var runs: [Run] = []
    private(set) var fragments: [UInt32: [UInt8]] = [:]
    private var lines: [UInt16: Line] = [:]
    /// Whole messages, in the order in which they are to be delivered.
    private var whole = Queue<Message>()
    /// Bytes of all that is held, with what it costs to hold it.
    private(set) var held = 0
    /// Chunks and messages that were dropped because nothing could have come of them.
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

    /// Whether the chunk is a whole message, is next to others, or may be the start of one more part.
    func hasRoom(for data: SCTPData) -> Bool {
        if runs.count < Self.maximumRuns || data.begins && data.ends { return true }
        let place = place(of: data.tsn)
        return place > 0 && runs[place - 1].last &+ 1 == data.tsn
            || place < runs.count && runs[place].first == data.tsn &+ 1
    }

    /// Takes a chunk; false when its message is longer than may be.
    ///
    /// `isAfterReceived` and `isBeforeReceived`: whether its neighbours were received, held or not.
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
                // It waits for its end in vain.
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

    /// The payloads of a run, which is over.
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

    /// The index of the first run behind `tsn`.
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
        var line = lines.removeValue(forKey: message.stream) ?? Line()
        defer { lines[message.stream] = line }
        let distance = Int16(bitPattern: ssn &- line.next)
        if distance == 0 {
            deliver(message)
            line.next &+= 1
            deliverNext(&line)
        } else if distance > 0, line.messages[ssn] == nil {
            held += message.cost
            line.messages[ssn] = message
            var (low, high) = (0, line.numbers.count)
            while low < high {
                let middle = (low + high) / 2
                if line.numbers[middle] &- line.next < ssn &- line.next { low = middle + 1 } else { high = middle }
            }
            line.numbers.insert(ssn, at: low)
        } else {
            // Its number has passed, or is taken.
            discarded += 1
        }
    }

    private mutating func deliverNext(_ line: inout Line) {
        var count = 0
        while count < line.numbers.count, line.numbers[count] == line.next {
            pass(line.numbers[count], &line)
            line.next &+= 1
            count += 1
        }
        if count > 0 { line.numbers.removeFirst(count) }
    }

    private mutating func pass(_ ssn: UInt16, _ line: inout Line) {
        guard let message = line.messages.removeValue(forKey: ssn) else { return }
        held -= message.cost
        deliver(message)
    }

    // MARK: - Given up by the sender

    /// Nothing up to `tsn` will come any more (RFC 3758 §3.6).
    mutating func forward(to tsn: UInt32, _ skips: [SCTPSkip]) {
        while let run = runs.first, !serialLess(tsn, run.first) || run.first == tsn &+ 1 && !run.begins {
            discard(at: 0)
        }
        for skip in skips where skip.stream < streams {
            var line = lines.removeValue(forKey: skip.stream) ?? Line()
            defer { lines[skip.stream] = line }
            guard Int16(bitPattern: skip.ssn &- line.next) >= 0 else { continue }
            // What arrived whole below the skipped number is still good.
            var count = 0
            while count < line.numbers.count, Int16(bitPattern: line.numbers[count] &- skip.ssn) <= 0 {
                pass(line.numbers[count], &line)
                count += 1
            }
            if count > 0 { line.numbers.removeFirst(count) }
            line.next = skip.ssn &+ 1
            deliverNext(&line)
        }
    }

    /// The peer starts these streams anew (RFC 6525 §5.2.2), all of them if none is named: what waits on them has lost
    /// its place.
    mutating func reset(_ streams: [UInt16]) {
        for stream in streams.isEmpty ? Array(lines.keys) : streams {
            guard let line = lines.removeValue(forKey: stream) else { continue }
            for message in line.messages.values { held -= message.cost }
            discarded += line.messages.count
        }
    }

    /// Whether whole messages wait to be delivered.
    var hasUndelivered: Bool { !whole.isEmpty }

    /// The association is over.
    mutating func removeAll() {
        runs = []
        fragments = [:]
        lines = [:]
        whole.removeAll()
        held = 0
    }
}
