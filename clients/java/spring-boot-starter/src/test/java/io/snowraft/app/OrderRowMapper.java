package io.snowraft.app;

import com.baomidou.mybatisplus.core.mapper.BaseMapper;
import org.apache.ibatis.annotations.Mapper;

/** Stores rows of orders. */
@Mapper
interface OrderRowMapper extends BaseMapper<OrderRow> {
}
