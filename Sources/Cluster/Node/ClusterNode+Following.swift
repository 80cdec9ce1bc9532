import Basics
import FoundationEssentials
import Logging

/// The copy of the store: a listing, and from there on the watch.
extension ClusterNode {
    /// How long a watch is trusted before everything is listed again: 3.4 can lose events.
    private static let relisting = Duration.seconds(60)

    func follow() async {
        while !Task.isCancelled {
            do {
                let (asked, losses) = state.withLock { ($0.copy.highest, $0.copy.losses) }
                let listing = try await store.list(.followed, hasValues: true)
                await perform(
                    state.withLock { state in
                        state.isWatching = true
                        let now = BootInstant.now()
                        let notices = state.copy.replace(listing, asked: asked, at: now)
                        if state.copy.losses > losses { state.reported = (0, .distantPast) }
                        return handle(notices, &state, at: now)
                    })
                if state.withLock({ $0.copy.losses }) > losses {
                    logger.error("the store has lost data: it begins anew, or has those of an earlier time")
                    layouts.withLock { $0.beginAnew() }
                }
                comparisons.yield()
                try await readLayouts()
                try await watch(from: listing.revision + 1)
            } catch {
                state.withLock { $0.isWatching = false }
                if Task.isCancelled { return }
                logger.debug("the watch of the cluster's keys: \(error)")
                try? await Task.sleep(for: .milliseconds(.random(in: 200...500)))
            }
        }
    }

    /// Returns when everything is to be listed again.
    private func watch(from revision: Int64) async throws {
        let watch = Task { [store] in
            try await store.watch(.watched, from: revision) { changes in
                await self.take(changes)
            }
        }
        state.withLock { $0.watch = watch }
        let timer = Task {
            try await Task.sleep(for: Self.relisting + .seconds(.random(in: 0...10)))
            watch.cancel()
        }
        defer { timer.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await watch.value
            } onCancel: {
                watch.cancel()
            }
        } catch {
            guard watch.isCancelled, !Task.isCancelled, state.withLock({ $0.isWatching }) else { throw error }
        }
    }

    private func take(_ changes: StoreChanges) async {
        takeLayouts(changes)
        let (now, rooms) = (
            BootInstant.now(),
            changes.changes.contains { change in
                switch change {
                case .put(let entry): if case .owner = entry.key { true } else { false }
                case .delete(let key, _): if case .owner = key { true } else { false }
                }
            }
        )
        await perform(
            state.withLock { state in handle(state.copy.apply(changes, at: now), &state, at: now) })
        if rooms { comparisons.yield() }
    }

    /// Ends a watch that does not show this node's own reports.
    func checkWatch() {
        let watch = state.withLock { state -> Task<Void, any Error>? in
            guard state.isWatching, !state.isFollowing(at: BootInstant.now()) else { return nil }
            state.isWatching = false
            return state.watch
        }
        guard let watch else { return }
        logger.warning("the watch of the cluster's keys is blind; the next member of etcd is asked")
        store.avoidEndpoint()
        watch.cancel()
    }
}
