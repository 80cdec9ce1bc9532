import Basics
import Threads

/// The pictures that accounts have uploaded and no message has named yet. They belong to their accounts: a message of
/// another one does not keep them.
final class SocketIOUploads: Sendable {
    /// Of one account; the oldest is forgotten, and so deleted when its minute is over.
    static let limit = 20
    /// Accounts with such pictures: as many as may upload within the minute.
    static let maxAccounts = 4096

    private struct Upload {
        var id: String
        var end: Instant
    }

    private let uploads = Guarded<[String: [Upload]]>([:])
    private let now: @Sendable () -> Instant

    /// - Parameter now: an argument for tests.
    init(now: @escaping @Sendable () -> Instant = { MonotonicClock.now() }) { self.now = now }

    /// Pictures come with their files' ends.
    private static let life = Duration.seconds(60)

    func add(_ id: String, of account: String) {
        let now = now()
        uploads.withLock { uploads in
            if uploads.count >= Self.maxAccounts {
                uploads = uploads.filter { $0.value.contains { now < $0.end } }
            }
            guard uploads.count < Self.maxAccounts || uploads[account] != nil else { return }
            var own = (uploads[account] ?? []).filter { now < $0.end }
            own.append(Upload(id: id, end: now + Self.life))
            uploads[account] = own.suffix(Self.limit)
        }
    }

    /// Takes the pictures of an account that a text names.
    func take(of account: String, in text: String) -> [String] {
        uploads.withLock { uploads in
            guard let own = uploads[account] else { return [] }
            let named = own.filter { text.contains($0.id) }
            let left = own.filter { upload in !named.contains { $0.id == upload.id } }
            uploads[account] = left.isEmpty ? nil : left
            return named.map(\.id)
        }
    }
}
