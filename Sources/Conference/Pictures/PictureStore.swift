package import Basics
import Logging
import Threads

/// Stores the pictures of all chats. The disk's work happens on a lane of its own, so that a disk that hangs blocks
/// nothing else; the pictures that wait for it are bounded in bytes.
package final class PictureStore: Sendable {
    /// The most bytes of pictures that wait for the disk.
    static let maxWaitingBytes = 64 << 20
    /// The most pictures that are read at the same time.
    static let maxReads = 16

    enum Refusal: String, Sendable, CaseIterable { case waiting, disk }

    private let configuration: ConferenceConfiguration.Pictures
    private let logger: Logger
    /// The most jobs that wait for the disk.
    private static let maxJobs = 4096
    let lane: DiskLane
    /// Touched on the lane only; the lock is never contended.
    private let folder: Guarded<PictureFolder>
    private let waitingBytes = Guarded(0)
    private let reads = Guarded(0)
    /// What was sent, and the folder does not know yet.
    private let kept = Guarded<Set<String>>([])
    private let counts = Guarded(Counts())

    private struct Counts {
        var stored = 0
        var deleted = 0
        var ended = 0
        var bytes = 0
        var refused: [Refusal: Int] = [:]
        /// The last picture could not be written, which the log has said.
        var isFailing = false
    }

    /// - Parameter limit: how long a request waits for the disk.
    init(_ configuration: ConferenceConfiguration.Pictures, logger: Logger, limit: Duration = .seconds(5)) {
        self.configuration = configuration
        lane = DiskLane("pictures", most: Self.maxJobs, limit: limit)
        self.logger = logger
        folder = Guarded(PictureFolder(path: configuration.directory, quota: configuration.maxBytes))
    }

    /// Counts the pictures of former runs, in the background.
    func open() {
        lane.submit { [self] in
            let bytes = folder.withLock { folder in
                folder.readOnce(at: MonotonicClock.now())
                return folder.bytes
            }
            counts.withLock { $0.bytes = bytes }
        }
    }

    // MARK: - Storing

    /// The place of one picture among those that wait for the disk, free again when the last reference ends.
    final class Place: Sendable {
        let format: ChatPicture.Format
        private let bytes: Int
        private let store: PictureStore

        fileprivate init(_ format: ChatPicture.Format, _ bytes: Int, _ store: PictureStore) {
            self.format = format
            self.bytes = bytes
            self.store = store
        }

        deinit { store.waitingBytes.withLock { $0 -= bytes } }
    }

    /// Checks a picture and takes a place for it; never waits.
    func place(for picture: [UInt8]) throws(ConferenceError) -> Place {
        guard let format = ChatPicture.Format(picture) else {
            throw .badPicture("Pictures are JPEG, PNG, GIF or WebP: this is none of them.")
        }
        guard picture.count <= ChatPicture.maxBytes else {
            throw .tooLarge("A picture may have at most \(ChatPicture.maxBytes) bytes: make it smaller.")
        }
        guard PictureFolder.cost(of: picture.count) <= configuration.maxBytes else {
            throw .pictureFailed(
                "The server stores no picture of this size: its operator may raise doors.pictureBytes.")
        }
        let isTaken = waitingBytes.withLock { waiting in
            guard waiting + picture.count <= Self.maxWaitingBytes else { return false }
            waiting += picture.count
            return true
        }
        guard isTaken else {
            counts.withLock { $0.refused[.waiting, default: 0] += 1 }
            throw .atCapacity("Too many pictures wait for the disk: try again.", retryAfter: .seconds(5))
        }
        return Place(format, picture.count, self)
    }

    /// How long a stored picture stays.
    enum Life: Sendable {
        case withMeeting
        /// Until `keep`, and not long without.
        case untilSent
        case personal
    }

    /// Stores a picture; `done` is called once, on the lane or before this returns.
    func store(
        _ picture: [UInt8], _ place: Place, of owner: PictureOwner = PictureOwner(), _ life: Life = .withMeeting,
        done: @escaping @Sendable (Result<ChatPicture, ConferenceError>) -> Void
    ) {
        let isQueued = lane.submit { [self] in done(write(picture, place.format, owner, life)) }
        if !isQueued { done(.failure(refused(.full))) }
    }

    func store(
        _ picture: [UInt8], _ place: Place, of owner: PictureOwner = PictureOwner(), _ life: Life = .withMeeting
    ) async throws(ConferenceError) -> ChatPicture {
        let result: Result<ChatPicture, ConferenceError>
        do throws(DiskLane.Refusal) {
            result = try await lane.run { [self] in write(picture, place.format, owner, life) }
        } catch {
            throw refused(error)
        }
        return try result.get()
    }

    /// Stores a picture outside of rooms: for endpoints with messages from person to person.
    ///
    /// - Parameters:
    ///   - address: the sender's, for whom it counts.
    ///   - isSent: a message has it already; otherwise it is deleted within a minute unless `keep` follows.
    package func store(
        _ bytes: [UInt8], from address: IPAddress?, isSent: Bool
    ) async throws(ConferenceError) -> ChatPicture {
        try await store(
            bytes, try place(for: bytes), of: PictureOwner(address: address), isSent ? .personal : .untilSent)
    }

    private func refused(_ refusal: DiskLane.Refusal) -> ConferenceError {
        switch refusal {
        case .full:
            counts.withLock { $0.refused[.waiting, default: 0] += 1 }
            return .atCapacity("Too many pictures wait for the disk: try again.", retryAfter: .seconds(5))
        case .late:
            counts.withLock { $0.refused[.disk, default: 0] += 1 }
            return .noAnswer(ofDisk: "pictures")
        }
    }

    /// A chat has sent a picture that was stored `untilSent`.
    package func keep(_ id: String) {
        guard ChatPicture.Format(id: id) != nil else { return }
        kept.withLock { kept in if kept.count < Self.maxJobs { kept.insert(id) } }
        lane.submit(replacing: "keep") { [self] in takeKept() }
    }

    /// Called on the lane.
    private func takeKept() {
        let kept = kept.withLock { kept in
            defer { kept = [] }
            return kept
        }
        let end = MonotonicClock.now() + PictureFolder.personalLife
        folder.withLock { folder in for id in kept { folder.keep(id, until: end) } }
    }

    /// Deletes, in the background, what has come to its end.
    func expire(at now: Instant, isOver: @escaping @Sendable (PictureOwner.Meeting) -> Bool) {
        lane.submit(replacing: "expire") { [self] in
            takeKept()
            let (gone, bytes) = folder.withLock { ($0.expire(at: now, isOver: isOver), $0.bytes) }
            counts.withLock { counts in
                counts.ended += gone
                counts.bytes = bytes
            }
        }
    }

    /// Called on the lane.
    private func write(
        _ picture: [UInt8], _ format: ChatPicture.Format, _ owner: PictureOwner, _ life: Life
    ) -> Result<ChatPicture, ConferenceError> {
        let id = RandomToken.make(ChatPicture.idLength) + "." + format.rawValue
        let now = MonotonicClock.now()
        let end: Instant? =
            switch life {
            case .withMeeting: nil
            case .untilSent: now + PictureFolder.unsentLife
            case .personal: now + PictureFolder.personalLife
            }
        do throws(PictureFolder.Fault) {
            let (deleted, bytes) = try folder.withLock { folder throws(PictureFolder.Fault) in
                (try folder.add(picture, as: id, of: owner, until: end, at: now), folder.bytes)
            }
            counts.withLock { counts in
                counts.stored += 1
                counts.deleted += deleted
                counts.bytes = bytes
                counts.isFailing = false
            }
            return .success(ChatPicture(id: id, type: format.type, bytes: picture.count))
        } catch {
            let isNew = counts.withLock { counts in
                counts.refused[.disk, default: 0] += 1
                defer { counts.isFailing = true }
                return !counts.isFailing
            }
            if isNew {
                logger.warning(
                    "pictures of chats cannot be stored: make the folder writable for the server, or set doors.directory",
                    metadata: ["folder": "\(configuration.directory)", "reason": "\(error.reason)"])
            }
            return .failure(
                .pictureFailed(
                    "The server cannot store pictures: its operator must make the folder of doors.directory writable."))
        }
    }

    // MARK: - Reading

    /// The file of a picture, which may have been deleted.
    package func path(of id: String) throws(ConferenceError) -> String {
        guard ChatPicture.Format(id: id) != nil else { throw .pictureNotFound }
        return configuration.directory + "/" + id
    }

    package func read(_ id: String) async throws(ConferenceError) -> [UInt8] {
        let isTaken = reads.withLock { reads in
            guard reads < Self.maxReads else { return false }
            reads += 1
            return true
        }
        guard isTaken else {
            throw .atCapacity("Too many pictures are being read: try again.", retryAfter: .seconds(2))
        }
        defer { reads.withLock { $0 -= 1 } }
        let bytes: [UInt8]?
        do throws(DiskLane.Refusal) {
            bytes = try await lane.run { [self] in folder.withLock { $0.read(id) } }
        } catch {
            throw refused(error)
        }
        guard let bytes else { throw .pictureNotFound }
        return bytes
    }

    // MARK: - Metrics

    var samples: [MetricSample] {
        let counts = counts.withLock { $0 }
        return MetricSample.limit("picture_bytes", of: configuration.maxBytes, current: counts.bytes)
            + Refusal.allCases.map {
                MetricSample.refusals("picture_bytes", reason: $0.rawValue, counts.refused[$0] ?? 0)
            } + [
                MetricSample(
                    "tessera_pictures_stored_total", "Pictures of chats that were stored.", .counter,
                    Double(counts.stored)),
                MetricSample(
                    "tessera_pictures_deleted_total", "Stored pictures that were deleted for newer ones.", .counter,
                    Double(counts.deleted)),
                MetricSample(
                    "tessera_pictures_ended_total",
                    "Stored pictures that were deleted because their meeting was over, or no chat sent them.", .counter,
                    Double(counts.ended)),
            ]
    }
}
