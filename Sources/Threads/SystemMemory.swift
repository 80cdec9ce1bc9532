import CThreads

/// Control of the allocator, so that the process gives unused memory back to the system.
public enum SystemMemory {
    /// Returns the allocator's free memory to the system. Blocks other threads' allocations for some milliseconds, so
    /// it belongs into quiet moments.
    public static func release() { threads_release_memory() }

    /// Makes glibc map each block of a picture's size on its own, so that the block returns to the system as soon as it
    /// is freed. To be called once, at the start.
    ///
    /// By default glibc raises its mapping threshold (up to 32 MB) with each mapped block that is freed. From the end
    /// of the first room on, pictures and encoders would then lie in the arenas between small blocks that stay, and the
    /// process would keep the peak of every arena. With a fixed threshold the soak test's server holds 170 MB between
    /// the rooms instead of 310. Steady calls allocate no such blocks: pictures come from pools.
    public static func mapPictures() { threads_map_blocks_from(pictureBytes) }

    /// 256 KiB, less than a picture of 640×360 (337 KiB).
    private static let pictureBytes: Int32 = 256 << 10
}
